// The numbers that name representations in a stream: docs/format.md lists them.
#pragma once
#include "base/common.h"

namespace stz {

// The meaning of the codec's samples: the numbers themselves, or integers that stand for them.
// fixed_point: value = origin + k * delta. logarithmic: octaves of numbers of one sign (logarithm.h). ulp_float16: float16 in ULP space.
// palette: ranks among the distinct values (palette.h).
enum class Transform : u8 { none = 0, fixed_point = 1, logarithmic = 2, ulp_float16 = 3, palette = 4 };
// The type the codec computes with.
enum class SampleType : u8 { f32 = 0, f64 = 1, i64 = 2 };
// The rule between prediction, quantization index and sample: quantize.h.
enum class QuantizerKind : u8 { uniform = 0, integer = 1, ulp = 2 };

// What a masked sample is; 0: it is a valid number and not masked.
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
