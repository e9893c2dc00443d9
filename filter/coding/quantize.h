// Quantization: from a prediction to a code (quantization index) and back. Three kinds:
//   uniform: x' = p + code * step, rounded to the stored type (float and double samples under an absolute bound),
//   integer: k' = rint(p) + code * step, all integers (integer and fixed-point data; step 1 is lossless),
//   ulp: the same in ULP space, where neighbouring floating-point numbers differ by one (lossless and point-wise bounds).
// The encoder proves the bound for every sample in exact arithmetic. Samples that fail become outliers. If there is a transform (frame.h),
// the bound of samples is chosen so that the bound of the numbers follows.
#pragma once
#include <vector>

#include "coding/code_stream.h"
#include "coding/number_types.h"
#include "coding/short_floats.h"
#include "simd/kernels.h"

namespace stz {

// ---------------------------------------------------------------- exact helpers

// Nearest integer, ties to even below 2^51. From 2^51 to 2^52 halves are truncated; larger numbers are integers.
inline double round_even(double v) {
  constexpr double magic = 6755399441055744.0;
  return __builtin_fabs(v) < 2251799813685248.0 ? (v + magic) - magic : __builtin_fabs(v) < 4503599627370496.0 ? double(i64(v)) : v;
}
// For predictions of wide integers. Saturates; NaN gives 0.
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

// The index of a float in ULP space: its bits as an integer in the order of the numbers; -0 precedes +0. A bijection.
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

// ---------------------------------------------------------------- quantizer of one level

template <class S>
struct Quantizer {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  QuantizerKind kind = QuantizerKind::uniform;
  bool rounds = false;     // samples are of a type shorter than float32: reconstructions are rounded to that
  FloatFormat format{};    // this type
  double bound = 0;        // uniform: bound of the decoded value
  double level_bound = 0;  // uniform: half the step
  u64 step = 1;            // integer, ulp
  double relative = 0;     // ulp with a step: the point-wise bound
  int zero_bits = 0;       // ulp with step 1: low mantissa bits that are zero in every sample
  Uniform<Real> fast{};    // uniform
  // Encoder: range of samples that read as the fill value. Valid samples must not be reconstructed in it. Empty by default.
  S avoid_from = 1, avoid_to = 0;
  bool avoids(S v) const { return v >= avoid_from && v <= avoid_to; }
  void set_uniform(double bound_, double level_bound_);
};

// What kernels for byte codes need to decode integers. Refers to the quantizer.
template <class T>
IntegerSteps<T> integer_steps(const Quantizer<T>& q);
// Whether kernels for byte codes can decode samples, and whether they can encode them.
template <class T>
bool decoded_by_class_kernels(const Quantizer<T>& q);
template <class S>
bool encoded_by_class_kernels(const Quantizer<S>& q) {
  return q.kind == QuantizerKind::uniform && !q.rounds && q.fast.safe > 0;
}

// Quantizes n samples x[stride * i] of a row of a parity class. `masked` (may be null): marks samples without a code, which become their
// prediction. `index`: index of the first sample in its class.
template <class S>
void quantize_row(const Quantizer<S>& q, const S* x, int stride, const RealOf<S>* p, int n, const u8* masked, u32 index, CodeOf<S>* code,
                  S* reconstructed, std::vector<Outlier>& outliers);
// The inverse. `large`: a code may mark an outlier or exceed the fast path. `next`: the next entry of `outliers` to use.
template <class S>
void dequantize_row(const Quantizer<S>& q, const CodeOf<S>* code, const RealOf<S>* p, int n, bool large,
                    const std::vector<Outlier>& outliers, size_t& next, S* reconstructed);

// Encoder: whether a sample may be decoded as `value`: within the bound in exact arithmetic, or with the same bits if lossless.
template <class S>
bool keeps_bound(const Quantizer<S>& q, S x, S value);
// Encoder: the code of a sample and the value that it decodes to. Returns false for an outlier.
template <class S>
bool quantize(const Quantizer<S>& q, S x, RealOf<S> p, CodeOf<S>& code, S& value);
// The sample for a prediction and a code that does not mark an outlier.
template <class S>
S sample_of_code(const Quantizer<S>& q, RealOf<S> p, CodeOf<S> code);

// Byte codes (see ClassCodes): handles samples that the class kernel could not. Sets the sample and its byte. Returns true, and sets the
// wide code, if the code does not fit in a byte.
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
