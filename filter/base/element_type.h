// Properties of the element types of an array (stz_dtype): sizes in bytes, components, kinds.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Bytes of one element; 0 for an unknown type.
constexpr size_t element_size(i32 dtype) {
  constexpr u8 size[] = {0, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 8, 16};
  return dtype >= STZ_F16 && dtype <= STZ_C128 ? size[dtype] : 0;
}

// Number of components: two for complex numbers, which become a batch axis of the codec; one for all other elements.
constexpr int components(i32 dtype) { return dtype == STZ_C64 || dtype == STZ_C128 ? 2 : 1; }
constexpr size_t component_size(i32 dtype) { return element_size(dtype) / size_t(components(dtype)); }

constexpr bool is_floating(i32 dtype) { return dtype <= STZ_F64 || dtype == STZ_C64 || dtype == STZ_C128; }
constexpr bool is_integer(i32 dtype) { return dtype >= STZ_I8 && dtype <= STZ_U64; }
constexpr bool is_signed(i32 dtype) { return dtype == STZ_I8 || dtype == STZ_I16 || dtype == STZ_I32 || dtype == STZ_I64; }
// Mantissa bits of a floating-point type, without the leading one.
constexpr int mantissa_bits(i32 dtype) { return component_size(dtype) == 2 ? 10 : component_size(dtype) == 4 ? 23 : 52; }

inline bool swapped(const stz_layout& layout) { return (layout.byte_order == STZ_BIG) == host_is_little; }

}  // namespace stz
