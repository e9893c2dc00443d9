// The streams of a level on their way into its section (encoder).
#pragma once
#include "base/bytes.h"
#include "encoder/write/code_stream_encoder.h"

namespace stz {

// The streams of a level in order, without checks, and their sizes in the order of the index.
struct LevelStreams {
  Bytes bytes;
  std::vector<u64> sizes;
  void close(size_t from) { sizes.push_back(bytes.size() - from); }
};

// Encodes the first `count` streams of the coder side by side.
void write_codes(CodeStreamEncoder& coder, int count, LevelStreams& streams);

// Appends a section: parameters, index and their check, then the streams with theirs (format/section.h).
void assemble(const Bytes& parameters, const std::vector<LevelStreams>& pieces, Bytes& section);

}  // namespace stz
