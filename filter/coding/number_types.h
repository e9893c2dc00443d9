// Numbers in a stream that identify representations; docs/format.md lists them.
#pragma once
#include "base/common.h"

namespace stz {

// How samples represent numbers: directly, or as integers that stand for them.
// fixed_point: value = origin + k * delta. logarithmic: octaves of numbers of one sign (logarithm.h). ulp_short: floats shorter than
// float32 in ULP space. palette: ranks of the distinct values (palette.h).
enum class Transform : u8 { none = 0, fixed_point = 1, logarithmic = 2, ulp_short = 3, palette = 4 };
// The type that the codec computes with.
enum class SampleType : u8 { f32 = 0, f64 = 1, i64 = 2 };
// The rule that connects prediction, quantization index and sample, see quantize.h.
enum class QuantizerKind : u8 { uniform = 0, integer = 1, ulp = 2 };

// The kind of a masked sample; 0: a valid number, not masked.
enum SpecialValue : u8 {
  special_none = 0,
  special_fill = 1,
  special_nan = 2,
  special_plus_infinity = 3,
  special_minus_infinity = 4,
  special_literal = 5,
  special_zero = 6,
  special_values = 7
};

}  // namespace stz
