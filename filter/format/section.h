// The frame of a section and of the streams in it; the same facts for writing and reading.
//
// Section of a level: varint size of the parameters | parameters and index (binary coder) | check | streams of the blocks, in C order.
// A stream that is not empty is followed by its check unless all streams of the section together are short (covered_streams): then the
// section's check covers them. The base section and that of a palette are their binary coder's bytes and the check.
#pragma once
#include <algorithm>

#include "coding/binary_coder.h"
#include "coding/checksum.h"
#include "format/frame.h"

namespace stz {

// Levels whose streams are no longer than this are covered by the section's own check; longer ones carry one per stream.
constexpr u64 covered_streams = 4096;

// The check of a level's section stands between the index and the streams. Whether it covers the streams, and how wide it is, follows from
// the size of the section and that of what stands in front of the check: streams that are covered have at most `covered_streams` bytes
// together, others more, and checks of their own.
struct SectionCheck {
  bool covers_streams;
  size_t width;
};
inline SectionCheck section_check(u64 front_size, u64 section_size) {
  constexpr u64 widest = 4;
  if (section_size - front_size > covered_streams + widest) return {false, check_size(front_size)};
  return {true, section_size < short_check_below + 2 ? size_t(2) : size_t(widest)};
}

// Of a section that is the bytes of a binary coder and their check: how many bytes are the coder's. Fails unless they match the check.
inline u64 checked_coder_bytes(const u8* section, u64 size) {
  const size_t width = size < short_check_below + 2 ? 2 : 4;
  require(size >= width, STZ_ERROR_TRUNCATED);
  const u64 coded = size - width;
  require(check_size(coded) == width, STZ_ERROR_CORRUPT);
  require_check(check_of(section, size_t(coded)), section + coded);
  return coded;
}

// The most sizes that the index of a section of so many bytes has. An index costs a decoder memory: a size in it takes no more than a
// five-hundredth of a bit if all are zero.
inline u64 most_index_sizes(u64 section_bytes) { return std::max<u64>(u64(1) << 22, 256 * section_bytes); }

// How the streams of a block are arranged: the number at the front of a section's parameters. Edge mode (edge_coder.h) has one stream for
// each block and no parameters.
enum Arrangement : u8 { stream_per_class = 0, merged_streams = 1, edge_streams = 2, arrangement_count = 3 };

// Models of a level's index: the arrangement, sizes of mask streams, of merged streams, of the streams of each parity class.
struct IndexModels {
  NumberModel arrangement, mask, block, stream[16];
};

}  // namespace stz
