#include "coding/quantize.h"

#include <algorithm>
#include <limits>

namespace stz {

template <class S>
void Quantizer<S>::set_uniform(double bound_, double level_bound_) {
  kind = QuantizerKind::uniform;
  bound = bound_;
  level_bound = level_bound_;
  fast.step = Real(2 * level_bound_);
  fast.inverse = Real(1 / (2 * level_bound_));
  fast.code_limit = sizeof(Real) == 4 ? Real(1 << 21) : Real(i64(1) << 50);
  // fl(v - r) <= bound (1 - 2 ulp) proves |v - r| <= bound. The limit is finite, because an infinite r must fail any bound.
  const double safe = bound_ * (1 - 4 * double(std::numeric_limits<Real>::epsilon()));
  fast.safe = Real(std::min(safe, double(std::numeric_limits<Real>::max())));
  if (!(fast.safe > 0) || !(fast.inverse < std::numeric_limits<Real>::max()) || !(fast.step > 0)) fast.safe = -1;  // slow path only
}

namespace {

// x' = p + code * step. For float samples, codes above 2^21 are multiplied in double.
template <class S>
inline S reconstruct_uniform(const Quantizer<S>& q, RealOf<S> p, i64 code) {
  S r;
  if (RealOf<S>(code < 0 ? -code : code) <= q.fast.code_limit)
    r = S(p + RealOf<S>(code) * q.fast.step);
  else
    r = S(double(p) + double(code) * double(q.fast.step));
  if constexpr (sizeof(S) == 4)
    if (q.rounds) r = round_to_short(q.format, r);
  return r;
}

template <class S>
inline auto predicted_ulp_index(RealOf<S> p) {
  return p == p ? ulp_index(S(p)) : decltype(ulp_index(S(p)))(0);
}

template <class S>
S reconstruct(const Quantizer<S>& q, RealOf<S> p, CodeOf<S> code) {
  if constexpr (!std::is_floating_point_v<S>)
    return i64(u64(to_integer(p)) + u64(code) * q.step);
  else {
    if (q.kind == QuantizerKind::uniform) return reconstruct_uniform(q, p, code);
    if (q.kind == QuantizerKind::integer) return S(i64(u64(to_integer(p)) + u64(i64(code)) * q.step));
    using UlpIndex = decltype(ulp_index(S()));
    using U = std::conditional_t<sizeof(UlpIndex) == 4, u32, u64>;
    const UlpIndex predicted = predicted_ulp_index<S>(p) >> q.zero_bits;
    UlpIndex index = UlpIndex((U(predicted) + U(code) * U(q.step)) << q.zero_bits);
    if (index < 0) index = UlpIndex(U(index) | ((U(1) << q.zero_bits) - 1));  // in negative numbers, zero bits are ones here
    return from_ulp_index(index);
  }
}

// Nearest multiple of an odd step, in two's complement.
inline i64 nearest_multiple(i64 residual, u64 step) {
  if (step == 1) return residual;
  i64 half = i64((step - 1) / 2), s = i64(step);
  return residual >= 0 ? (residual > INT64_MAX - half ? residual / s : (residual + half) / s)
                       : (residual < INT64_MIN + half ? residual / s : (residual - half) / s);
}

// Whether the bound allows `value` for x. In ULP space with a step, the test |x - value| <= relative |x| is stricter than needed by more
// than the rounding of both sides; zeros and signs must be equal.
template <class S>
bool is_kept(const Quantizer<S>& q, S x, S value) {
  if constexpr (!std::is_floating_point_v<S>) {
    const __int128 error = __int128(x) - value;
    return (error < 0 ? -error : error) <= __int128((q.step - 1) / 2);
  } else {
    if (q.kind == QuantizerKind::uniform) return within(double(x), double(value), q.bound);
    const double error = __builtin_fabs(double(x) - double(value));
    if (q.kind == QuantizerKind::integer) return error <= double((q.step - 1) / 2);
    if (sample_bits(x) == sample_bits(value)) return true;
    const double allowed = q.relative * __builtin_fabs(double(x));
    return q.step != 1 && error < __builtin_inf() && error <= allowed * (1 - 1e-15) && allowed > 1e-300 && (x < 0) == (value < 0) &&
           value != 0;
  }
}

// Quantizes one sample. Returns false for an outlier.
template <class S>
bool quantize_sample(const Quantizer<S>& q, S x, RealOf<S> p, CodeOf<S>& code, S& reconstructed) {
  auto fits = [](i64 c) { return u64(c < 0 ? -c : c) <= largest_code<CodeOf<S>> - 1; };
  if constexpr (!std::is_floating_point_v<S>) {
    i64 c = nearest_multiple(i64(u64(x) - u64(to_integer(p))), q.step);
    if (c == INT64_MIN || !fits(c)) return false;
    code = c;
    reconstructed = reconstruct(q, p, code);
    return is_kept(q, x, reconstructed);  // the sum may have wrapped
  } else if (q.kind == QuantizerKind::uniform) {
    const double steps = (double(x) - double(p)) / (2 * q.level_bound);
    double exact = __builtin_fabs(steps) < double(q.fast.dead_zone) ? 0 : round_even(steps);
    if (!(__builtin_fabs(exact) < double(largest_code<CodeOf<S>> - 2))) return false;
    for (int nudge : {0, 1, -1}) {  // rounding of p + code * step may need the neighbour
      i64 c = i64(exact) + nudge;
      S r = reconstruct_uniform(q, p, c);
      if (within(double(x), double(r), q.bound)) {
        code = CodeOf<S>(c);
        reconstructed = r;
        return true;
      }
    }
    return false;
  } else if (q.kind == QuantizerKind::integer) {
    i64 c = nearest_multiple(i64(u64(i64(x)) - u64(to_integer(p))), q.step);  // wraps if the prediction is far off
    if (c == INT64_MIN || !fits(c)) return false;
    code = CodeOf<S>(c);
    reconstructed = reconstruct(q, p, code);
    return is_kept(q, x, reconstructed);
  } else {
    using UlpIndex = decltype(ulp_index(S()));
    using U = std::conditional_t<sizeof(UlpIndex) == 4, u32, u64>;
    i64 c = nearest_multiple(i64(UlpIndex(U(ulp_index(x) >> q.zero_bits) - U(predicted_ulp_index<S>(p) >> q.zero_bits))), q.step);
    if (c == INT64_MIN || !fits(c)) return false;
    code = CodeOf<S>(c);
    reconstructed = reconstruct(q, p, code);
    return is_kept(q, x, reconstructed);
  }
}

template <class T>
T reconstruct_one(const void* quantizer, T prediction, int code) {
  return reconstruct<T>(*static_cast<const Quantizer<T>*>(quantizer), prediction, code);
}

// ---------------------------------------------------------------- rows by kernels

// Whether the kernels for integers can handle the step.
template <class T>
bool has_small_step(const Quantizer<T>& q) {
  return q.step <= (sizeof(T) == 4 ? u64(1) << 20 : u64(1) << 49);
}

template <class T>
bool avoids_any(const Quantizer<T>& q, const T* reconstructed, int n) {
  return q.avoid_from <= q.avoid_to && std::any_of(reconstructed, reconstructed + n, [&](T v) { return q.avoids(v); });
}

// Outliers keep their values. There may be many: numbers on both sides of zero.
template <class T>
void quantize_ulps(const Quantizer<T>& q, const T* x, const T* p, int n, u32 index, CodeOf<T>* code, T* reconstructed,
                   std::vector<Outlier>& outliers) {
  if (number_kernels<T>().quantize_ulps(x, p, n, q.zero_bits, code, reconstructed)) return;
  for (int i = 0; i < n; i++)
    if (code[i] == outlier_code<CodeOf<T>>) outliers.push_back({index + u32(i), sample_bits(x[i])});
}

// Returns false if the row has to be quantized sample by sample.
template <class T>
bool quantize_by_kernel(const Quantizer<T>& q, const T* x, int stride, const T* p, int n, u32 index, CodeOf<T>* code, T* reconstructed,
                        std::vector<Outlier>& outliers) {
  if (q.kind == QuantizerKind::uniform)
    return !q.rounds && q.fast.safe > 0 && uniform_kernels<T>().quantize(x, stride, p, n, q.fast, code, reconstructed) &&
           !avoids_any(q, reconstructed, n);
  if (stride != 1) return false;
  if (q.kind == QuantizerKind::integer)
    return has_small_step(q) && number_kernels<T>().quantize_integers(x, p, n, T(q.step), code, reconstructed) &&
           !avoids_any(q, reconstructed, n);
  if (q.step != 1 || avoids_any(q, x, n)) return false;
  quantize_ulps(q, x, p, n, index, code, reconstructed, outliers);
  return true;
}

template <class S>
S outlier_sample(const std::vector<Outlier>& outliers, size_t& next) {
  require(next < outliers.size(), STZ_ERROR_CORRUPT);
  return sample_from_bits<S>(outliers[next++].bits);
}

// The inverse. `large`: as for dequantize_row, but true if any row has such a code.
template <class T>
bool dequantize_by_kernel(const Quantizer<T>& q, const CodeOf<T>* code, const T* p, int n, bool large, const std::vector<Outlier>& outliers,
                          size_t& next, T* reconstructed) {
  if (q.kind == QuantizerKind::ulp) {
    number_kernels<T>().dequantize_ulps(code, p, n, q.step, q.zero_bits, reconstructed);
    if (large)
      for (int i = 0; i < n; i++)
        if (code[i] == outlier_code<CodeOf<T>>) reconstructed[i] = outlier_sample<T>(outliers, next);
    return true;
  }
  if (large && code_kernels<CodeOf<T>>().largest(code, n) > (sizeof(T) == 4 ? u64(1) << 21 : u64(1) << 50)) return false;
  if (q.kind == QuantizerKind::uniform) {
    if (!q.rounds) uniform_kernels<T>().dequantize(code, p, n, q.fast, reconstructed);
    return !q.rounds;
  }
  return has_small_step(q) && number_kernels<T>().dequantize_integers(code, p, n, T(q.step), reconstructed);
}

}  // namespace

template <class T>
bool decoded_by_class_kernels(const Quantizer<T>& q) {
  const bool integers = q.kind == QuantizerKind::integer && q.step <= (sizeof(T) == 4 ? u64(1) << 16 : u64(1) << 45);
  return integers || encoded_by_class_kernels(q);
}
template bool decoded_by_class_kernels(const Quantizer<float>&);
template bool decoded_by_class_kernels(const Quantizer<double>&);

template <class T>
IntegerSteps<T> integer_steps(const Quantizer<T>& q) {
  return {T(q.step), reconstruct_one<T>, &q};
}
template IntegerSteps<float> integer_steps(const Quantizer<float>&);
template IntegerSteps<double> integer_steps(const Quantizer<double>&);

template <class S>
void quantize_row(const Quantizer<S>& q, const S* x, int stride, const RealOf<S>* p, int n, const u8* masked, u32 index, CodeOf<S>* code,
                  S* reconstructed, std::vector<Outlier>& outliers) {
  // For integers and ULPs kernels give the same codes as single samples; a uniform quantizer may give others at ties.
  if (masked && q.kind != QuantizerKind::uniform && std::all_of(masked, masked + n, [](u8 m) { return m == 0; })) masked = nullptr;
  if constexpr (std::is_floating_point_v<S>)
    if (!masked && quantize_by_kernel(q, x, stride, p, n, index, code, reconstructed, outliers)) return;
  for (int i = 0; i < n; i++) {
    if (masked && masked[i]) {
      code[i] = 0;
      reconstructed[i] = reconstruct<S>(q, p[i], 0);
    } else if (!quantize_sample<S>(q, x[stride * i], p[i], code[i], reconstructed[i]) || q.avoids(reconstructed[i])) {
      code[i] = outlier_code<CodeOf<S>>;
      reconstructed[i] = x[stride * i];
      outliers.push_back({index + u32(i), sample_bits(x[stride * i])});
    }
  }
}

template <class S>
void dequantize_row(const Quantizer<S>& q, const CodeOf<S>* code, const RealOf<S>* p, int n, bool large,
                    const std::vector<Outlier>& outliers, size_t& next, S* reconstructed) {
  if constexpr (std::is_floating_point_v<S>)
    if (dequantize_by_kernel(q, code, p, n, large, outliers, next, reconstructed)) return;
  for (int i = 0; i < n; i++)
    if (code[i] == outlier_code<CodeOf<S>>)
      reconstructed[i] = outlier_sample<S>(outliers, next);
    else
      reconstructed[i] = reconstruct<S>(q, p[i], code[i]);
}

template <class T>
bool requantize_failed_sample(const Quantizer<T>& q, const FailedSample<T>& failed, bool masked, u8& byte, WideCode& wide) {
  CodeOf<T> code = 0;
  T reconstructed;
  byte = byte_escape;
  if (masked)
    reconstructed = reconstruct<T>(q, failed.prediction, 0);
  else if (!quantize_sample<T>(q, *failed.place, failed.prediction, code, reconstructed) || q.avoids(reconstructed)) {
    wide = {failed.index, outlier_mark, sample_bits(*failed.place)};
    return true;
  }
  *failed.place = reconstructed;
  wide = {failed.index, i64(code), 0};
  if (code < -largest_byte_code || code > largest_byte_code) return true;
  byte = u8(zigzag(code));
  return false;
}
template bool requantize_failed_sample(const Quantizer<float>&, const FailedSample<float>&, bool, u8&, WideCode&);
template bool requantize_failed_sample(const Quantizer<double>&, const FailedSample<double>&, bool, u8&, WideCode&);

template <class T>
void requantize_failed_samples(const Quantizer<T>& q, const FailedSample<T>* failed, u32 count, const u8* mask, u8* bytes,
                               std::vector<WideCode>& wide_codes) {
  for (const FailedSample<T>* f = failed; f < failed + count; f++) {
    WideCode wide;
    if (requantize_failed_sample(q, *f, mask && mask[f->index], bytes[f->index], wide)) wide_codes.push_back(wide);
  }
}
template void requantize_failed_samples(const Quantizer<float>&, const FailedSample<float>*, u32, const u8*, u8*, std::vector<WideCode>&);
template void requantize_failed_samples(const Quantizer<double>&, const FailedSample<double>*, u32, const u8*, u8*, std::vector<WideCode>&);

template <class T>
T sample_of_wide_code(const Quantizer<T>& q, const WideCode& e, T prediction) {
  return e.code == outlier_mark ? sample_from_bits<T>(e.bits) : reconstruct<T>(q, prediction, CodeOf<T>(e.code));
}
template float sample_of_wide_code(const Quantizer<float>&, const WideCode&, float);
template double sample_of_wide_code(const Quantizer<double>&, const WideCode&, double);

template <class S>
bool keeps_bound(const Quantizer<S>& q, S x, S value) {
  return is_kept(q, x, value) && !q.avoids(value);
}

template <class S>
bool quantize(const Quantizer<S>& q, S x, RealOf<S> p, CodeOf<S>& code, S& value) {
  return quantize_sample(q, x, p, code, value) && !q.avoids(value);
}

template <class S>
S sample_of_code(const Quantizer<S>& q, RealOf<S> p, CodeOf<S> code) {
  return reconstruct(q, p, code);
}

#define STZ_INSTANTIATE(S)                                                                                                               \
  template struct Quantizer<S>;                                                                                                          \
  template bool keeps_bound(const Quantizer<S>&, S, S);                                                                                  \
  template bool quantize(const Quantizer<S>&, S, RealOf<S>, CodeOf<S>&, S&);                                                             \
  template S sample_of_code(const Quantizer<S>&, RealOf<S>, CodeOf<S>);                                                                  \
  template void quantize_row(const Quantizer<S>&, const S*, int, const RealOf<S>*, int, const u8*, u32, CodeOf<S>*, S*,                  \
                             std::vector<Outlier>&);                                                                                     \
  template void dequantize_row(const Quantizer<S>&, const CodeOf<S>*, const RealOf<S>*, int, bool, const std::vector<Outlier>&, size_t&, \
                               S*);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
