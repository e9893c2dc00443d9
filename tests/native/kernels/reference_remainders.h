// A plain loop for the kernels of remainders.
#pragma once
#include <cmath>

#include "harness.h"

namespace check {
namespace {

template <class U>
u64 put_remainders(const u8* bits, u64 size, u64 at, U* x, size_t n, const RemainderForm& f, u32* small, size_t* smalls) {
  using T = std::conditional_t<sizeof(U) == 4, float, double>;
  auto is_special = [&](U number) { return (number >> f.mantissa & f.all_ones) == f.all_ones || (f.has_fill && number == f.fill); };
  *smalls = 0;
  for (size_t i = 0; i < n; i++) {
    T number;
    memcpy(&number, x + i, sizeof(U));
    if (is_special(x[i])) continue;
    const double magic = std::ldexp(1.5, 52), steps = number * f.inverse + magic - magic;
    number = T(steps * f.step);
    memcpy(x + i, &number, sizeof(U));
    if (is_special(x[i])) continue;
    const i64 octave = i64(x[i] >> f.mantissa & f.all_ones) - i64(f.exponent_of_step);
    if (octave < 0) small[(*smalls)++] = u32(i);
    for (i64 b = f.zero_bits; octave >= 0 && b < f.mantissa - octave; b++, at++)
      if (at / 8 < size) x[i] = U(x[i] | u64(bits[at / 8] >> at % 8 & 1) << b);
  }
  return at;
}

}  // namespace
}  // namespace check
