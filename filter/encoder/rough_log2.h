// Logarithms for estimates of bits, the same with every C library.
#pragma once
#include "base/common.h"

namespace stz {

// log2 of a positive number that is not subnormal, good to 1e-3: a line through the exponent and a cubic in the mantissa.
inline double rough_log2(double v) {
  const u64 b = bit_cast_to<u64>(v);
  const double f = bit_cast_to<double>((b & ((u64(1) << 52) - 1)) | u64(1023) << 52) - 1;
  return double(int(b >> 52) - 1023) + f * (1.4254 + f * (-0.6017 + f * 0.1763));
}

}  // namespace stz
