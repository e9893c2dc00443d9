#include "coding/short_floats.h"

#include <algorithm>
#include <limits>

namespace stz {
namespace {

constexpr int float_mantissa = 23, float_bias = 127;
constexpr u32 float_infinity = 0x7f800000u, float_sign = 0x80000000u;

// Bits of a normal number as a float and in the type differ by a shift and by this.
constexpr u32 exponent_difference(const FloatFormat& f) { return u32(float_bias - f.bias()) << float_mantissa; }
constexpr u32 smallest_normal(const FloatFormat& f) { return exponent_difference(f) + (1u << float_mantissa); }
constexpr int dropped_bits(const FloatFormat& f) { return float_mantissa - f.mantissa_bits; }
constexpr u32 largest_finite(const FloatFormat& f) { return (u32(f.first_special() - 1) << dropped_bits(f)) + exponent_difference(f); }
// Subnormal numbers of bfloat16 are subnormal as floats too.
constexpr bool same_exponents(const FloatFormat& f) { return f.bias() == float_bias; }

float power_of_two(int exponent) { return bit_cast_to<float>(u32(exponent + float_bias) << float_mantissa); }

// Quiet, with the upper mantissa bits.
u16 nan_bits(const FloatFormat& f, u16 sign, u64 upper_mantissa) {
  const u64 first = f.first_special();
  return u16(sign | first | (f.has_infinity ? u64(1) << (f.mantissa_bits - 1) | upper_mantissa : 0));
}

}  // namespace

float short_to_float(const FloatFormat& f, u16 bits) {
  const u32 a = bits & u32(f.sign() - 1), sign = bits & f.sign() ? float_sign : 0;
  if (a >= f.first_special()) {
    const u32 mantissa = f.has_infinity ? u32(a - f.first_special()) << dropped_bits(f) : 1u << (float_mantissa - 1);
    return bit_cast_to<float>(sign | float_infinity | mantissa);
  }
  if (!same_exponents(f) && a < 1u << f.mantissa_bits) {  // subnormal: a multiple of the smallest number
    const float v = float(a) * power_of_two(f.smallest());
    return sign ? -v : v;
  }
  return bit_cast_to<float>(sign | ((a << dropped_bits(f)) + exponent_difference(f)));
}

u16 short_from_float(const FloatFormat& f, float v) {
  const u32 b = bit_cast_to<u32>(v), a = b & ~float_sign;
  const u16 sign = b & float_sign ? u16(f.sign()) : u16(0);
  if (a > float_infinity) return nan_bits(f, sign, u64(a & ((1u << float_mantissa) - 1)) >> dropped_bits(f));
  if (a == float_infinity) return u16(sign | f.first_special());
  if (!same_exponents(f) && a < smallest_normal(f)) return u16(sign | u32(bit_cast_to<float>(a) * power_of_two(-f.smallest())));
  return u16(sign | ((a - exponent_difference(f)) >> dropped_bits(f)));
}

u16 short_from_double(const FloatFormat& f, double v) {
  constexpr int double_mantissa = 52;
  const u64 b = bit_cast_to<u64>(v), a = b & ~(u64(1) << 63), fraction = (u64(1) << double_mantissa) - 1;
  const u16 sign = b >> 63 ? u16(f.sign()) : u16(0);
  const int exponent = int(a >> double_mantissa) - 1023;
  if (exponent == 1024 && (a & fraction)) return nan_bits(f, sign, (a & fraction) >> (double_mantissa - f.mantissa_bits));
  if (exponent > f.bias() + 1) return u16(sign | f.first_special());
  if (exponent < f.smallest() - 1) return sign;  // below half of the smallest number
  const u64 mantissa = (a & fraction) | u64(1) << double_mantissa;
  const int dropped = double_mantissa - f.mantissa_bits + std::max(0, f.smallest_normal() - exponent);
  const u64 rest = mantissa & ((u64(1) << dropped) - 1), tie = u64(1) << (dropped - 1);
  u64 kept = mantissa >> dropped;
  kept += rest > tie || (rest == tie && kept & 1);
  // A carry out of the mantissa increments the exponent.
  const int above_smallest = std::max(0, exponent - f.smallest_normal());
  return u16(sign | std::min((u64(above_smallest) << f.mantissa_bits) + kept, f.first_special()));
}

float round_to_short(const FloatFormat& f, float v) {
  u32 b = bit_cast_to<u32>(v), sign = b & float_sign, a = b & ~float_sign;
  if (a > float_infinity) return v;
  float r;
  if (!same_exponents(f) && a < smallest_normal(f)) {  // multiples of the smallest number, which is the ulp of `magic`
    const float magic = power_of_two(f.smallest() + float_mantissa);
    r = (bit_cast_to<float>(a) + magic) - magic;
  } else {
    const int dropped = dropped_bits(f);
    if (a < float_infinity) a += (1u << (dropped - 1)) - 1 + (a >> dropped & 1);
    a &= ~((1u << dropped) - 1);
    if (a > largest_finite(f)) a = f.has_infinity ? float_infinity : largest_finite(f);
    r = bit_cast_to<float>(a);
  }
  return bit_cast_to<float>(bit_cast_to<u32>(r) | sign);
}

}  // namespace stz
