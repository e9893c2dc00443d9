// The types of samples inside the codec, and the arithmetic of each.
#pragma once
#include "base/common.h"

namespace stz {

// The type in which a sample type is predicted, and the integer that holds its codes (quantization indices). i64 samples (wide integers)
// are predicted in double.
template <class S>
struct Arithmetic;
template <>
struct Arithmetic<float> {
  using Real = float;
  using Code = i32;
};
template <>
struct Arithmetic<double> {
  using Real = double;
  using Code = i64;
};
template <>
struct Arithmetic<i64> {
  using Real = double;
  using Code = i64;
};
template <class S>
using RealOf = typename Arithmetic<S>::Real;
template <class S>
using CodeOf = typename Arithmetic<S>::Code;

// Numbers below `low` become `low`, numbers above `high` become `high`; a NaN stays.
template <class S>
struct Limits {
  S low, high;
  S operator()(S v) const { return v < low ? low : v > high ? high : v; }
};

}  // namespace stz
