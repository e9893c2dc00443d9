// What a decoded number may be: the bound of a mode in exact arithmetic, independently of the codec; NaN, infinities and fill values have
// their bits. Numbers are given by their bits as integers of the host.
#pragma once
#include <algorithm>
#include <limits>

#include "fuzz_common.h"

namespace fuzz {

using Quad = __float128;
using Wide = __int128;

inline double floating_value(int dtype, uint64_t bits) {
  if (is_short(dtype)) return short_value(short_float(dtype), uint16_t(bits));
  switch (number_size(dtype)) {
    case 4: {
      uint32_t narrow = uint32_t(bits);
      float value;
      memcpy(&value, &narrow, 4);
      return double(value);
    }
    default: {
      double value;
      memcpy(&value, &bits, 8);
      return value;
    }
  }
}

inline Wide integer_value(int dtype, uint64_t bits) {
  switch (dtype) {
    case STZ_I8:
      return int8_t(bits);
    case STZ_I16:
      return int16_t(bits);
    case STZ_I32:
      return int32_t(bits);
    case STZ_I64:
      return int64_t(bits);
    default:
      return Wide(bits);
  }
}

// Largest and smallest finite value (as bits) of the dtype.
inline double largest_floating(int dtype) {
  return is_short(dtype)           ? short_float(dtype).largest
         : number_size(dtype) == 4 ? double(std::numeric_limits<float>::max())
                                   : std::numeric_limits<double>::max();
}

inline uint64_t bits_of_number(int dtype, double value) {
  if (is_floating(dtype)) {
    const double limit = largest_floating(dtype);
    if (is_short(dtype)) return short_bits(short_float(dtype), std::clamp(value, -limit, limit));
    if (number_size(dtype) == 4) {
      float narrow = float(std::clamp(value, -limit, limit));
      uint32_t bits;
      memcpy(&bits, &narrow, 4);
      return bits;
    }
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
  }
  size_t width = number_size(dtype);
  bool is_signed = dtype == STZ_I8 || dtype == STZ_I16 || dtype == STZ_I32 || dtype == STZ_I64;
  double low = is_signed ? -std::ldexp(1.0, int(8 * width) - 1) : 0, high = std::ldexp(1.0, int(8 * width) - int(is_signed));
  value = std::rint(value);
  if (!(value > low)) return is_signed ? uint64_t(1) << (8 * width - 1) : 0;
  uint64_t all = width == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * width)) - 1;
  if (value >= high) return is_signed ? all >> 1 : all;
  return (is_signed ? uint64_t(int64_t(value)) : uint64_t(value)) & all;
}

inline uint64_t sign_bit(int dtype) { return uint64_t(1) << (8 * number_size(dtype) - 1); }
// Magnitudes from this one on are no numbers.
inline uint64_t infinity_bits(int dtype) {
  return is_short(dtype) ? short_float(dtype).beyond : number_size(dtype) == 4 ? 0x7f800000u : uint64_t(0x7ff) << 52;
}
inline bool is_finite(int dtype, uint64_t bits) { return !is_floating(dtype) || (bits & (sign_bit(dtype) - 1)) < infinity_bits(dtype); }

// The bits of all numbers of this type.
inline uint64_t all_bits(int dtype) { return number_size(dtype) == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * number_size(dtype))) - 1; }

// |x - y| <= limit, exactly: `limit` is exact in quadruple precision, the difference is its rounding and the rest (Knuth's TwoSum).
inline bool within(double x, double y, Quad limit) {
  if (!std::isfinite(y)) return false;
  Quad a = x, b = -Quad(y), sum = a + b, back = sum - a, rest = (a - (sum - back)) + (b - back);
  if (sum < 0) sum = -sum, rest = -rest;
  return sum < limit || (sum == limit && rest <= 0);
}

// What is promised of one array.
struct Bound {
  int dtype, mode;
  double bound;
  bool has_fill;
  uint64_t fill;
  Bound(const stz_layout& layout, const stz_options& options)
      : dtype(layout.dtype), mode(options.mode), bound(options.bound), has_fill(options.has_fill), fill(options.fill) {
    if (!is_floating(dtype) && options.integers != STZ_INTEGERS_BOUNDED) mode = STZ_LOSSLESS;
  }
  // May `x` have become `y`?
  bool kept(uint64_t x, uint64_t y) const {
    if (x == y) return true;
    if (mode == STZ_LOSSLESS || bound == 0 || !is_finite(dtype, x)) return false;
    if (has_fill && x == fill) return false;
    if (!is_floating(dtype)) {
      const Wide error = integer_value(dtype, x) - integer_value(dtype, y);
      return Quad(error < 0 ? -error : error) <= Quad(bound);
    }
    const double a = floating_value(dtype, x), b = floating_value(dtype, y);
    if (mode == STZ_ABSOLUTE) return within(a, b, bound);
    if (a == 0 || (x & sign_bit(dtype)) != (y & sign_bit(dtype))) return false;
    return within(a, b, Quad(bound) * Quad(std::fabs(a)));
  }
};

// A number as people write it.
inline double shown(int dtype, uint64_t bits) {
  return is_floating(dtype) ? floating_value(dtype, bits) : double(integer_value(dtype, bits));
}

}  // namespace fuzz
