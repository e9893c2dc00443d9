// The frame of a section and of the streams in it; the same facts for writing and reading.
//
// Section of a level: varint size of the parameters | parameters and index (binary coder) | check | streams of the blocks, in C order.
// A stream that is not empty is followed by its 16-bit check unless all streams of the section together are short (covered_streams):
// then the section's check covers them. The root section is its binary coder's bytes and the check.
#pragma once
#include "format/checksum.h"
#include "format/frame.h"

namespace stz {

constexpr size_t check_size(size_t section_bytes) { return section_bytes < short_section ? 2 : 4; }

inline void put_check(Bytes& out, u32 crc, size_t width) {
  for (size_t i = 0; i < width; i++) out.push_back(u8(crc >> (8 * i)));
}

// Models of a level's index: sizes of mask streams, of merged streams, of the streams of each class.
struct IndexModels {
  BitModel merged;
  NumberModel mask, block, stream[16];
};

}  // namespace stz
