// The palette: the distinct values of an array that has few of them, in increasing order. Samples are ranks in it. Byte by byte:
// docs/format.md.
#pragma once
#include "format/frame.h"

namespace stz {

// Maps the bits of a component to an integer in the order of the numbers, starting at 0; -0 precedes +0. A bijection.
class Places {
 public:
  explicit Places(i32 dtype);
  int width() const { return width_; }  // in bits
  u64 of(u64 bits) const { return floating_ && bits & sign_ ? ~bits & mask_ : bits ^ flip_; }
  u64 bits(u64 place) const { return floating_ && !(place & sign_) ? ~place & mask_ : place ^ flip_; }
  // Removes the lowest bits of an element, which are zero, and restores them.
  u64 shortened(u64 place, int zero_bits) const { return place >> zero_bits; }
  u64 extended(u64 shortened, int zero_bits) const {
    const u64 place = shortened << zero_bits;
    return floating_ && !(place & sign_) ? place | ((u64(1) << zero_bits) - 1) : place;
  }
  // The places of the lowest and the highest finite number.
  u64 lowest() const { return lowest_; }
  u64 highest() const { return highest_; }

 private:
  bool floating_;
  int width_;
  u64 sign_, mask_, flip_, lowest_, highest_;
};

// Largest distance of neighbouring values, in shortened places.
constexpr u64 largest_palette_gap = (u64(1) << 63) - 1;

// Writes the palette's section. `bits`: the bits of its values by increasing place, all different. Empty if the format cannot hold it.
Bytes write_palette(i32 dtype, const std::vector<u64>& bits);
// Reads the palette from its section of h.palette_size bytes.
void read_palette(Header& h, const u8* section);

}  // namespace stz
