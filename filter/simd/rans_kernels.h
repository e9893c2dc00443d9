// The interface of the kernels of interleaved rANS.
#pragma once
#include "base/common.h"

namespace stz {

constexpr size_t rans_slack = 32;  // words that rans.encode may overwrite behind its output

// A rANS stream to decode, from `word` on.
struct RansStream {
  u32* state;
  u8* out;
  size_t n, done;  // number of symbols
  const u8 *word, *end;
};

// Symbols to encode: of a bin in direct mode, all with one table; or the tokens of a bin in run-length mode, where two tables alternate.
struct RansSegment {
  const u32 *reciprocal[2], *step[2];  // of symbols of even and odd index, 64 entries each (see CodeTable)
  int symbol_count;                    // direct mode: symbols are below this
  const u8* symbols;
  size_t n;
};
// A rANS stream to encode, from its last symbol to its first. `word`: room for at most one word per symbol. The decoder reads the words in
// reverse order.
struct RansOutput {
  u32* state;
  const RansSegment* segments;
  size_t count;  // number of segments
  u16* word;
};

// Interleaved rANS (see code_stream.h). Symbol j belongs to lane j mod lanes; lanes is a power of two up to 64.
struct RansKernels {
  // Decodes whole rounds of lanes of each stream while enough words are left that no check is needed: at least while 2 * lanes + 32 bytes
  // are left. Sets `done` and moves `word`. Reads nothing from `end` on and writes nothing from out + n on. Several streams at once are
  // faster than one after the other, because their states do not depend on each other.
  void (*decode)(const u32* table, u32 lanes, RansStream* streams, int count);
  // Encodes streams and moves `word` behind the output. Several streams at once are faster here, too.
  void (*encode)(u32 lanes, RansOutput* streams, int count);
};

}  // namespace stz
