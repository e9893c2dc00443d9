// Converts elements as they are in memory (any dtype and byte order) to the codec's samples and back.
#pragma once
#include "format/frame.h"

namespace stz {

inline u64 load_bits(const u8* p, size_t width, bool swap) {
  switch (width) {
    case 1:
      return *p;
    case 2: {
      u16 v;
      memcpy(&v, p, 2);
      return swap ? __builtin_bswap16(v) : v;
    }
    case 4: {
      u32 v;
      memcpy(&v, p, 4);
      return swap ? __builtin_bswap32(v) : v;
    }
    default: {
      u64 v;
      memcpy(&v, p, 8);
      return swap ? __builtin_bswap64(v) : v;
    }
  }
}
inline void store_bits(u8* p, u64 bits, size_t width, bool swap) {
  switch (width) {
    case 1:
      *p = u8(bits);
      break;
    case 2: {
      u16 v = swap ? __builtin_bswap16(u16(bits)) : u16(bits);
      memcpy(p, &v, 2);
      break;
    }
    case 4: {
      u32 v = swap ? __builtin_bswap32(u32(bits)) : u32(bits);
      memcpy(p, &v, 4);
      break;
    }
    default: {
      u64 v = swap ? __builtin_bswap64(bits) : bits;
      memcpy(p, &v, 8);
    }
  }
}

// Fills `bytes` bytes at p with the padding, in whole components of the byte order of the array.
void store_padding(const Header& h, u8* p, u64 bytes);

// Recognises special values, NaN and infinities, by the bits of elements of a floating-point dtype.
class SpecialValues {
 public:
  explicit SpecialValues(i32 dtype) : format_(float_format(dtype)), sign_(format_.sign()), first_(format_.first_special()) {}
  bool special(u64 bits) const { return (bits & (sign_ - 1)) >= first_; }
  // `nan_bits`: the bits of the common NaN; other NaNs are literal elements.
  SpecialValue kind(u64 bits, u64 nan_bits) const {
    if (!special(bits)) return special_none;
    if (format_.has_infinity && (bits & (sign_ - 1)) == first_) return bits & sign_ ? special_minus_infinity : special_plus_infinity;
    return bits == nan_bits ? special_nan : special_literal;
  }

 private:
  FloatFormat format_;
  u64 sign_, first_;
};

// Whether any of n special values differs from special_none.
inline bool any_special(const u8* specials, u64 n) {
  u64 any = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    u64 eight;
    memcpy(&eight, specials + i, 8);
    any |= eight;
  }
  for (; i < n; i++) any |= specials[i];
  return any != 0;
}
constexpr u64 special_run = 256;  // samples that are tested together

// The value of an element of a real dtype. Exact for floating-point types; 64-bit integers are rounded to double, unsigned ones after
// subtracting 2^63.
double number_of(i32 dtype, u64 bits);
// The distance of two elements of a real dtype. Rounded once, also for 64-bit integers.
double distance_of(i32 dtype, u64 x, u64 y);

// Convert the bits of a component to the codec's sample and back, with the header's transform. Results are clamped to the range of integer
// dtypes, and to that of the header (value_range.h).
template <class S>
S sample_of(const Header& h, u64 bits);
// The bits of the component with this rank in the palette; out-of-range ranks are clamped. The palette must have been read.
inline u64 palette_bits(const Header& h, i64 rank) {
  const std::vector<u64>& table = *h.palette;
  return table[size_t(rank < 0 ? 0 : u64(rank) < table.size() ? u64(rank) : table.size() - 1)];
}
// Whether samples have the same bits as elements, unless these are brought into the range of the header.
template <class S>
bool samples_are_elements(const Header& h) {
  return std::is_floating_point_v<S> && h.transform == Transform::none && is_floating(h.layout.dtype) &&
         component_size(h.layout.dtype) == sizeof(S);
}
template <class S>
u64 bits_of(const Header& h, S sample);
// sample_of() for contiguous components in the host's byte order.
template <class S>
void samples_of(const Header& h, const u8* components, i64 n, S* samples);
// bits_of() for many samples; writes contiguous little-endian numbers of component_size bytes.
template <class S>
void components_of(const Header& h, const S* samples, i64 n, u8* out);

}  // namespace stz
