#include "encoder/write/level_streams.h"

#include <algorithm>

#include "base/faults.h"
#include "format/section.h"

namespace stz {

void write_codes(CodeStreamEncoder& coder, int count, LevelStreams& streams) {
  coder.encode();
  size_t needed = streams.bytes.size();
  for (int s = 0; s < count; s++) needed += coder.size(s);
  if (needed > streams.bytes.capacity()) streams.bytes.reserve(std::max(needed, 2 * streams.bytes.size()));
  for (int s = 0; s < count; s++) {
    const size_t from = streams.bytes.size();
    coder.finish(s, streams.bytes);
    streams.close(from);
  }
}

void assemble(const Bytes& parameters, const std::vector<LevelStreams>& pieces, Bytes& section) {
  const size_t begin = section.size();
  STZ_FAULT_POINT(level_head, parameters.data(), parameters.size());
  for ([[maybe_unused]] const LevelStreams& piece : pieces) STZ_FAULT_POINT(streams, piece.bytes.data(), piece.bytes.size());
  size_t total = 0, streams = 0;
  for (const LevelStreams& piece : pieces) {
    total += piece.bytes.size();
    for (u64 size : piece.sizes) streams += size != 0;
  }
  const size_t needed = begin + parameters.size() + total + 4 * streams + 1024;  // with room for the header, which is added last
  if (needed > section.capacity()) section.reserve(std::max(needed, 2 * begin));
  put_varint(section, parameters.size());
  section.insert(section.end(), parameters.begin(), parameters.end());
  auto put_streams = [&](bool with_checks) {
    for (const LevelStreams& piece : pieces) {
      const u8* stream = piece.bytes.data();
      for (u64 size : piece.sizes) {
        if (!size) continue;
        section.insert(section.end(), stream, stream + size);
        if (with_checks) put_check(section, check_of(stream, size_t(size)));
        stream += size;
      }
    }
  };
  if (total > covered_streams) {
    put_check(section, check_of(&section[begin], section.size() - begin));
    put_streams(true);
    return;
  }
  const size_t check_at = section.size();
  put_streams(false);
  Bytes check;
  put_check(check, check_of(&section[begin], section.size() - begin));
  section.insert(section.begin() + std::ptrdiff_t(check_at), check.begin(), check.end());
}

}  // namespace stz
