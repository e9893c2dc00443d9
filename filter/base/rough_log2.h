// Logarithms for estimates of bits, the same with every C library.
#pragma once
#include <array>

#include "base/common.h"

namespace stz {

// log2 of a positive number that is not subnormal, good to 1e-3: a line through the exponent and a cubic in the mantissa.
constexpr double rough_log2(double v) {
  const u64 b = bit_cast_to<u64>(v);
  const double f = bit_cast_to<double>((b & ((u64(1) << 52) - 1)) | u64(1023) << 52) - 1;
  return double(int(b >> 52) - 1023) + f * (1.4254 + f * (-0.6017 + f * 0.1763));
}

// n * rough_log2(n), or 0 for 0. Small numbers, the most frequent ones, come from a table.
inline double rough_n_log2(u32 n) {
  static constexpr auto table = [] {
    std::array<double, 256> t{};
    for (u32 k = 1; k < t.size(); k++) t[k] = k * rough_log2(k);
    return t;
  }();
  return n < table.size() ? table[n] : n * rough_log2(n);
}

}  // namespace stz
