// The content check: a CRC-32C for each block of level 0, computed from the decoded components. It detects decoders that decode intact
// bytes to wrong values. Record 4 of the trailer. Byte by byte: docs/format.md, "Content check".
#pragma once
#include <utility>

#include "base/buffer.h"
#include "coding/checksum.h"
#include "format/elements.h"
#include "masks/mask_coder.h"

namespace stz {

// The number of blocks with a CRC: those of level 0 of all items. If level 0 is in the base section, each item has one.
inline u64 checked_blocks(const Hierarchy& h) { return (h.base_level > 0 ? block_count(h.level[0]) : 1) * h.batch; }

// The trailer with a record of these CRCs.
Bytes write_trailer(const std::vector<u32>& checks);

// Verifies a trailer and finds the payload of its record. Returns false if there is no such record.
bool find_content_check(const u8* trailer, size_t size, ByteReader& payload);

// Reads the CRCs. Returns false if there are none; fails unless there are `blocks` of them.
bool read_content_check(const u8* trailer, size_t size, u64 blocks, std::vector<u32>& checks);

// Computes the CRC of components that come in pieces. For one thread.
template <class S>
class ContentCheck {
 public:
  // The special values of samples, and the bits of literal ones. `map` gives their indices in level 0.
  struct Special {
    GridPart<const u8> kinds;
    const std::vector<LiteralElement>& literals;  // sorted by index
    LevelMap map;
  };

  // Adds the samples of a box in raster order. `special`: null if none is masked.
  void add(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special);
  // Returns the CRC and starts the next one.
  u32 take() { return std::exchange(crc_, 0); }

 private:
  void add_converted(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special);

  u32 crc_ = 0;
  Buffer<u8> bytes_;
};

}  // namespace stz
