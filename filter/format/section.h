// The frame of a section and of its streams, shared by encoder and decoder.
//
// Section of a level: varint size of the parameters | parameters and index (binary coder) | check | streams of the blocks, in C order.
// Each non-empty stream is followed by its check, unless the streams of the section are short (covered_streams): then the section's check
// covers them. The base section and the palette's section are the bytes of a binary coder and their check.
#pragma once
#include <algorithm>

#include "coding/binary_coder.h"
#include "coding/checksum.h"
#include "format/frame.h"

namespace stz {

// A level with at most this many bytes of streams has them covered by the section's check; otherwise each stream has its own.
constexpr u64 covered_streams = 4096;

// The check of a level's section stands between the index and the streams. Its width, and whether it covers the streams, follow from the
// size of the section and of the part before the check.
struct SectionCheck {
  bool covers_streams;
  size_t width;
};
inline SectionCheck section_check(u64 front_size, u64 section_size) {
  constexpr u64 widest = 4;
  if (section_size - front_size > covered_streams + widest) return {false, check_size(front_size)};
  return {true, section_size < short_check_below + 2 ? size_t(2) : size_t(widest)};
}

// The number of bytes that the binary coder wrote to a section that has only these and their check. Fails unless the check is right.
inline u64 checked_coder_bytes(const u8* section, u64 size) {
  const size_t width = size < short_check_below + 2 ? 2 : 4;
  require(size >= width, STZ_ERROR_TRUNCATED);
  const u64 coded = size - width;
  require(check_size(coded) == width, STZ_ERROR_CORRUPT);
  require_check(check_of(section, size_t(coded)), section + coded);
  return coded;
}

// Most sizes that the index of a section of this many bytes can have. This limits the memory that a damaged index can cost a decoder: sizes
// that are all zero take less than 1/500 bit each.
inline u64 most_index_sizes(u64 section_bytes) { return std::max<u64>(u64(1) << 22, 256 * section_bytes); }

// How the streams of a block are arranged; stored at the front of a section's parameters. Edge mode (edge_coder.h) has one stream per block
// and no parameters.
enum Arrangement : u8 { stream_per_class = 0, merged_streams = 1, edge_streams = 2, arrangement_count = 3 };

// Models of a level's index: the arrangement, and the sizes of mask streams, of merged streams and of the streams of each parity class.
struct IndexModels {
  NumberModel arrangement, mask, block, stream[16];
};

}  // namespace stz
