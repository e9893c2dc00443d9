// The kernels of interleaved rANS, and what they take.
#pragma once
#include "base/common.h"

namespace stz {

constexpr size_t rans_slack = 32;  // words that rans.encode may touch behind those that it writes

// A stream of rANS to be decoded, from `word` on.
struct RansStream {
  u32* state;
  u8* out;
  size_t n, done;  // symbols
  const u8 *word, *end;
};

// Symbols to be encoded: of a bin in direct mode, all with the same table, or the tokens of a bin in run-length mode, where two take turns.
struct RansSegment {
  const u32 *reciprocal[2], *step[2];  // of symbols of even and of odd index, 64 entries each (see CodeTable)
  int symbol_count;                    // those of direct mode are below
  const u8* symbols;
  size_t n;
};
// A stream of rANS to be encoded, from its last symbol to its first, with room for its words from `word` on, one per symbol at most. The
// decoder takes them in reverse order.
struct RansOutput {
  u32* state;
  const RansSegment* segments;
  size_t count;  // of segments
  u16* word;
};

// Interleaved rANS (see code_stream.h). Symbol j belongs to lane j mod lanes; lanes is a power of two up to 64.
struct RansKernels {
  // Decodes whole rounds of lanes of each stream while enough words are left that none needs a check: as long as there are 2 * lanes + 32
  // bytes, and perhaps further. Sets `done` and moves `word`; reads nothing from `end` on and writes nothing from out + n on. Several
  // streams take less time than one after the other: a state waits for itself, but not for those of other streams.
  void (*decode)(const u32* table, u32 lanes, RansStream* streams, int count);
  // Encodes streams and moves `word` behind what it stores. Several take less time than one after the other here, too.
  void (*encode)(u32 lanes, RansOutput* streams, int count);
};

}  // namespace stz
