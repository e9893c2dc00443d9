// From prediction to code (quantization index) and back. Three kinds:
//   uniform: x' = p + code * step, rounded to the stored type (float and double samples under an absolute bound),
//   integer: k' = rint(p) + code * step, all integers (integer and fixed-point data; step 1 is lossless),
//   ulp: the same in ULP space, where neighbouring floating-point numbers differ by one (lossless and point-wise bounds).
// The encoder proves the bound on every sample, in exact arithmetic, and stores what fails as outliers. Under a transform (frame.h) the
// bound of the samples is chosen so that the bound of the numbers follows.
#pragma once
#include <vector>

#include "coding/code_stream.h"
#include "coding/number_types.h"
#include "simd/kernels.h"

namespace stz {

// ---------------------------------------------------------------- exact helpers

// Nearest integer, ties to even below 2^51; halves of numbers up to 2^52 are cut off, larger ones are integers already.
inline double round_even(double v) {
  constexpr double magic = 6755399441055744.0;
  return __builtin_fabs(v) < 2251799813685248.0 ? (v + magic) - magic : __builtin_fabs(v) < 4503599627370496.0 ? double(i64(v)) : v;
}
// For prediction to wide integers: saturates, NaN is 0.
inline i64 to_integer(double v) {
  v = round_even(v);
  if (!(v > -9.2e18)) return v != v ? 0 : INT64_MIN;
  if (!(v < 9.2e18)) return INT64_MAX;
  return i64(v);
}
template <class S>
inline S sample_from_real(RealOf<S> p) {
  if constexpr (std::is_floating_point_v<S>)
    return p;
  else
    return to_integer(p);
}

// Whether |x - y| <= bound in exact arithmetic. (TwoSum, Knuth 1969: d + e = x - y exactly.)
inline bool within(double x, double y, double bound) {
  double d = x - y;
  if (__builtin_fabs(d) < bound) return true;
  if (!(__builtin_fabs(d) <= bound)) return false;
  double t = d - x, e = (x - (d - t)) + (-y - t);
  return d >= 0 ? e <= 0 : e >= 0;
}

// Index of a float in ULP space: its bits, in the order of the numbers; -0 is the neighbour of +0. A bijection.
inline i32 ulp_index(float v) {
  i32 b = bit_cast_to<i32>(v);
  return b ^ ((b >> 31) & 0x7fffffff);
}
inline i64 ulp_index(double v) {
  i64 b = bit_cast_to<i64>(v);
  return b ^ ((b >> 63) & 0x7fffffffffffffff);
}
inline float from_ulp_index(i32 o) { return bit_cast_to<float>(o ^ ((o >> 31) & 0x7fffffff)); }
inline double from_ulp_index(i64 o) { return bit_cast_to<double>(o ^ ((o >> 63) & 0x7fffffffffffffff)); }

// Nearest half-precision number, as float: ties to even, overflow to infinity.
float round_to_half(float v);

// ---------------------------------------------------------------- quantiser of one level

template <class S>
struct Quantizer {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  QuantizerKind kind = QuantizerKind::uniform;
  bool half = false;       // samples are float16: reconstructions are rounded to it
  double bound = 0;        // what the final value must meet (uniform)
  double level_bound = 0;  // half the step (uniform)
  u64 step = 1;            // integer, ulp
  double relative = 0;     // ulp with a step: the point-wise bound
  int zero_bits = 0;       // ulp with step 1: low mantissa bits that every sample leaves zero
  Uniform<Real> fast{};    // uniform
  // Encoder: valid samples must not be reconstructed here, where they would read as the fill value. Empty by default.
  S avoid_from = 1, avoid_to = 0;
  bool avoids(S v) const { return v >= avoid_from && v <= avoid_to; }
  void set_uniform(double bound_, double level_bound_);
};

// Quantises n samples x[stride * i] of one row of parity class `cls`. `masked` (may be null): samples without a code; they become their
// prediction. `index`: of the first sample in its class.
template <class S>
void quantize_row(const Quantizer<S>& q, const S* x, int stride, const RealOf<S>* p, int n, const u8* masked, u32 index, CodeOf<S>* code,
                  S* reconstructed, std::vector<Outlier>& outliers);
// Reverses it. `large`: a code may mark an outlier or be beyond the fast path. `next` walks through `outliers`.
template <class S>
void dequantize_row(const Quantizer<S>& q, const CodeOf<S>* code, const RealOf<S>* p, int n, bool large,
                    const std::vector<Outlier>& outliers, size_t& next, S* reconstructed);

// Whether a sample may be decoded as `value`: within the bound in exact arithmetic, the same bits where every bit counts (encoder).
template <class S>
bool keeps_bound(const Quantizer<S>& q, S x, S value);
// The code of one sample and what it is decoded as; false: an outlier (encoder).
template <class S>
bool quantize(const Quantizer<S>& q, S x, RealOf<S> p, CodeOf<S>& code, S& value);
// The sample of a prediction and a code that marks no outlier.
template <class S>
S sample_of_code(const Quantizer<S>& q, RealOf<S> p, CodeOf<S> code);

// Byte codes (see ClassCodes): what the class kernel could not do. Sets sample, byte and, where the code does not fit one (then true is
// returned), the wide code.
template <class T>
bool requantize_failed_sample(const Quantizer<T>& q, const FailedSample<T>& failed, bool masked, u8& byte, WideCode& wide);
template <class T>
void requantize_failed_samples(const Quantizer<T>& q, const FailedSample<T>* failed, u32 count, const u8* mask, u8* bytes,
                               std::vector<WideCode>& wide_codes);
// The sample of a wide code.
template <class T>
T sample_of_wide_code(const Quantizer<T>& q, const WideCode& e, T prediction);

template <class S>
inline u64 sample_bits(S v) {
  if constexpr (sizeof(S) == 4)
    return bit_cast_to<u32>(v);
  else
    return bit_cast_to<u64>(v);
}
template <class S>
inline S sample_from_bits(u64 b) {
  if constexpr (sizeof(S) == 4)
    return bit_cast_to<S>(u32(b));
  else
    return bit_cast_to<S>(b);
}

}  // namespace stz
