// The distance of two numbers, rounded up; and a test whether a number became the fill value.
#pragma once
#include "format/convert.h"

namespace stz {

// The next double above a positive one.
inline double next_above(double v) { return v < __builtin_inf() ? bit_cast_to<double>(bit_cast_to<u64>(v) + 1) : v; }

// |x - y| rounded up. (TwoSum, Knuth 1969: d + e = x - y exactly.)
inline double distance_up(double x, double y) {
  const double d = x - y, t = d - x, e = (x - (d - t)) + (-y - t);
  const bool exact = !(__builtin_fabs(d) < __builtin_inf()) || e == 0 || (e < 0) == (d > 0);
  return exact ? __builtin_fabs(d) : next_above(__builtin_fabs(d));
}
inline double distance_up(u64 x, u64 y) {
  const u64 d = x > y ? x - y : y - x;
  const double v = double(d);
  return v < 18446744073709551616.0 && u64(v) < d ? next_above(v) : v;
}

// Whether an element of `array` that is not the header's fill value equals it in `other`. Elements are as they are in memory.
inline bool any_became_fill_value(const Header& h, const u8* array, const u8* other) {
  if (!h.has_fill) return false;
  const size_t width = component_size(h.layout.dtype);
  const bool swap = swapped(h.layout);
  const u64 n = element_count(h.layout);
  for (u64 i = 0; i < n; i++)
    if (load_bits(other + i * width, width, swap) == h.fill && load_bits(array + i * width, width, swap) != h.fill) return true;
  return false;
}

}  // namespace stz
