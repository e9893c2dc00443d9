// The content check: a CRC-32C for each block of level 0 over the components that it decodes to, so that a decoder which makes something
// else of sound bytes is found out. Record 4 of the trailer. Byte by byte: docs/format.md, "Content check".
#pragma once
#include <utility>

#include "base/buffer.h"
#include "coding/checksum.h"
#include "format/elements.h"
#include "masks/mask_coder.h"

namespace stz {

// The blocks that have a CRC each: those of level 0, all items; where level 0 is in the base section, the items.
inline u64 checked_blocks(const Hierarchy& h) { return (h.base_level > 0 ? block_count(h.level[0]) : 1) * h.batch; }

// The trailer with a record of these CRCs.
Bytes write_trailer(const std::vector<u32>& checks);

// The record in a trailer, which is checked first: its payload. False if there is none.
bool find_content_check(const u8* trailer, size_t size, ByteReader& payload);

// What it holds. False if there is none. Fails unless it has one CRC for each of `blocks`.
bool read_content_check(const u8* trailer, size_t size, u64 blocks, std::vector<u32>& checks);

// The CRC of components that come in pieces. For one thread.
template <class S>
class ContentCheck {
 public:
  // Special values of samples that may be masked, and the bits of those of kind special_literal; `map` leads to their indices.
  struct Special {
    GridPart<const u8> kinds;
    const std::vector<LiteralElement>& literals;  // by rising index
    LevelMap map;
  };

  // The samples of a box, in raster order, follow those before; `special`: null if nothing is masked.
  void add(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special);
  // The CRC; the next one begins.
  u32 take() { return std::exchange(crc_, 0); }

 private:
  void add_converted(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special);

  u32 crc_ = 0;
  Buffer<u8> bytes_;
};

}  // namespace stz
