// Puts the remainders of elements (format/remainders.h) into the elements.
#pragma once
#include "format/frame.h"

namespace stz {

// Adds a slab's remainders to its elements. `slab`: its bytes without their check.
class SlabDecoder {
 public:
  explicit SlabDecoder(const Header& h);
  // The elements of the slab, as decoded, whose bits are host-endian, in order. Fails unless the slab holds exactly what they need.
  template <class U>
  void decode(const u8* slab, u64 size, U* elements, u64 n) const;

 private:
  template <class U>
  u64 add_wide(const u8* slab, u64 size, U* elements, u64 n, std::vector<u32>& smalls) const;

  template <class U>
  void round(U* __restrict elements, u64 n) const;

  static constexpr u8 is_small = 254, is_special = 255;
  const RemainderWidths w_;
  const Zeros zeros_;
  const double step_, inverse_;
  std::vector<u8> width_;  // of numbers by their exponents
};

// Adds all remainders to a decoded array. `remainders`: the bytes from the first of their sections on.
void add_remainders(const Header& h, const u8* remainders, u64 size, u8* array, int threads);

}  // namespace stz
