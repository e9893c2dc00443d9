// Properties of the element types of an array (stz_dtype): sizes in bytes, components, kinds, fields of floating-point numbers.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Bytes of one element; 0 for an unknown type.
constexpr size_t element_size(i32 dtype) {
  constexpr u8 size[] = {0, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 8, 16, 2, 1, 1};
  return dtype >= STZ_F16 && dtype <= STZ_F8_E5M2 ? size[dtype] : 0;
}

constexpr bool is_complex(i32 dtype) { return dtype == STZ_C64 || dtype == STZ_C128; }
// Number of components: two for complex numbers, which become a batch axis of the codec; one for all other elements.
constexpr int components(i32 dtype) { return is_complex(dtype) ? 2 : 1; }
constexpr size_t component_size(i32 dtype) { return element_size(dtype) / size_t(components(dtype)); }

constexpr bool is_integer(i32 dtype) { return dtype >= STZ_I8 && dtype <= STZ_U64; }
constexpr bool is_floating(i32 dtype) { return !is_integer(dtype); }
constexpr bool is_signed(i32 dtype) { return dtype == STZ_I8 || dtype == STZ_I16 || dtype == STZ_I32 || dtype == STZ_I64; }

// The fields of a component of a floating-point type: sign, exponent, mantissa without the leading one. The largest exponent means
// infinities and NaN. In float8 E4M3FN it is one of finite numbers too, and only the largest mantissa with it means NaN.
struct FloatFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity = true;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int smallest_normal() const { return 1 - bias(); }                  // log2 of the smallest normal number
  constexpr int smallest() const { return smallest_normal() - mantissa_bits; }  // log2 of the smallest number
  constexpr u64 sign() const { return u64(1) << (exponent_bits + mantissa_bits); }
  // Magnitudes from this one on are no numbers: the bits of infinity, or of NaN where there is none.
  constexpr u64 first_special() const { return has_infinity ? sign() - (u64(1) << mantissa_bits) : sign() - 1; }
};
constexpr FloatFormat float_format(i32 dtype) {
  switch (dtype) {
    case STZ_F16:
      return {5, 10};
    case STZ_BF16:
      return {8, 7};
    case STZ_F8_E4M3:
      return {4, 3, false};
    case STZ_F8_E5M2:
      return {5, 2};
    case STZ_F32:
    case STZ_C64:
      return {8, 23};
    default:
      return {11, 52};
  }
}
constexpr int exponent_bits(i32 dtype) { return float_format(dtype).exponent_bits; }
constexpr int mantissa_bits(i32 dtype) { return float_format(dtype).mantissa_bits; }
// Floating-point types of fewer bits than float32: their samples are floats.
constexpr bool is_short_float(i32 dtype) { return is_floating(dtype) && component_size(dtype) < 4; }

inline bool swapped(const stz_layout& layout) { return (layout.byte_order == STZ_BIG) == host_is_little; }

}  // namespace stz
