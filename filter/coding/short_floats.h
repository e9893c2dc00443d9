// Floating-point types shorter than float32, which hold a part of its numbers: float16, bfloat16, float8 E4M3FN and E5M2.
#pragma once
#include "base/element_type.h"

namespace stz {

float short_to_float(const FloatFormat& format, u16 bits);  // exact
// Nearest, rounded once, ties to even. Overflow gives infinity, or NaN where the type has no infinity.
u16 short_from_double(const FloatFormat& format, double v);
// The nearest number of the type, as a float, ties to even. Overflow gives infinity, or the largest number where the type has no infinity.
float round_to_short(const FloatFormat& format, float v);
u16 short_from_float(const FloatFormat& format, float f);  // f is a number of the type, infinite or NaN

// The place of a number of 8 or 16 bits in the order of the numbers, as a signed integer (ULP space); and its inverse.
template <class Int>
constexpr Int ulp_place(Int bits) {
  return Int(bits ^ ((bits >> (8 * sizeof(Int) - 1)) & (Int(-1) ^ Int(Int(1) << (8 * sizeof(Int) - 1)))));
}

}  // namespace stz
