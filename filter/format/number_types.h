// The numbers that name representations in a stream: docs/format.md lists them.
#pragma once
#include "base/common.h"

namespace stz {

// What the samples of the codec are: the numbers themselves, or integers that stand for them.
// lattice: value = origin + k * delta. logarithmic: octaves of numbers of one sign (logarithm.h). ordered_half: bits of float16 in order.
enum class Transform : u8 { none = 0, lattice = 1, logarithmic = 2, ordered_half = 3 };
// The type the codec computes with.
enum class SampleType : u8 { f32 = 0, f64 = 1, i64 = 2 };
// The rule between prediction, quantization index and sample: quantize.h.
enum class QuantizerKind : u8 { uniform = 0, integer = 1, ordered = 2 };

// Masked samples: kinds beside 0, valid.
enum MaskKind : u8 {
  mask_none = 0,
  mask_fill = 1,
  mask_nan = 2,
  mask_plus_infinity = 3,
  mask_minus_infinity = 4,
  mask_other = 5,
  mask_zero = 6,
  mask_kinds = 7
};

}  // namespace stz
