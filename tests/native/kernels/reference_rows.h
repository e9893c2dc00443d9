// References for the kernels on rows and classes: prediction, interleaving, quantization. Included by reference.cpp only.
#pragma once
#include "harness.h"
#include "reference_integers.h"

namespace check {
namespace {

// ---------------------------------------------------------------- prediction

// Sum over groups of weight * (sum of the group's taps), in their order.
template <class S>
RealOf<S> prediction(const S* sample, const TapTable& taps, const RealOf<S>* weights) {
  using R = RealOf<S>;
  R total = 0;
  const std::ptrdiff_t* offset = taps.offset;
  for (int g = 0; g < taps.groups; g++) {
    R sum = R(sample[*offset++]);
    for (int t = 1; t < taps.taps[g]; t++) sum += R(sample[*offset++]);
    total = g == 0 ? sum * weights[0] : total + sum * weights[g];
  }
  return total;
}

// Sorted by exchanges of neighbours from the end on, which also says what becomes of numbers that do not compare: NaN stops whatever is
// on its way to the front.
template <class S>
RealOf<S> middle(const S* sample, const std::ptrdiff_t* offset, int count) {
  using R = RealOf<S>;
  std::vector<R> v;
  for (int t = 0; t < count; t++) v.push_back(R(sample[offset[t]]));
  for (int sorted = 0; sorted <= count / 2; sorted++)
    for (int j = count - 1; j > sorted; j--)
      if (v[size_t(j)] < v[size_t(j - 1)]) std::swap(v[size_t(j)], v[size_t(j - 1)]);
  const R *upper = &v[size_t(count / 2)], *lower = count % 2 ? nullptr : upper - 1;
  return lower ? (*lower + *upper) * R(0.5) : *upper;
}

template <class S>
void predict(const S* row, const TapTable& taps, const RealOf<S>* weights, int n, RealOf<S>* p) {
  for (int x = 0; x < n; x++) p[x] = prediction(row + x, taps, weights);
}

template <class S>
void median(const S* row, const std::ptrdiff_t* offsets, int count, int n, RealOf<S>* p) {
  for (int x = 0; x < n; x++) p[x] = middle(row + x, offsets, count);
}

template <class S>
void mean_of_valid(const S* row, const u8* kinds, const std::ptrdiff_t* offsets, const std::ptrdiff_t* kind_offsets, int count, int n,
                   RealOf<S>* mean) {
  using R = RealOf<S>;
  for (int x = 0; x < n; x++) {
    R valid = 0, all = 0;
    int found = 0;
    for (int t = 0; t < count; t++) {
      const R v = R(row[x + offsets[t]]);
      const bool is_valid = kinds[x + kind_offsets[t]] == 0;
      all += v;
      valid += is_valid ? v : R(0);
      found += is_valid;
    }
    mean[x] = found ? valid / R(found) : all / R(count);
  }
}

// ---------------------------------------------------------------- rows in and out of halves

template <class S>
void interleave(const S* even, const S* odd, int n, S* out, bool, const Limits<S>* limits) {
  for (int i = 0; i < n; i++) {
    out[i] = i % 2 ? odd[i / 2] : even[i / 2];
    if (limits && out[i] < limits->low) out[i] = limits->low;
    if (limits && out[i] > limits->high) out[i] = limits->high;
  }
}

template <class S>
void interleave_rows(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride) {
  for (int r = 0; r < rows; r++) interleave<S>(even + r * stride, odd + r * stride, n, out + r * out_stride, false, nullptr);
}

template <class S>
void separate(const S* in, int n, S* even, S* odd) {
  for (int i = 0; i < n; i++) {
    S& out = i % 2 ? odd[i / 2] : even[i / 2];
    out = in[i];
  }
}

// ---------------------------------------------------------------- quantization

// code = rint((x - p) * inverse), ties to even; false if it is beyond the limit or no number. Its reconstruction is p + code * step, where
// a code of zero is +0.
template <class T>
bool code_of(T x, T p, const Uniform<T>& q, T limit, CodeOf<T>& code, T& reconstructed) {
  T scaled = (x - p) * q.inverse;
  if (__builtin_fabs(scaled) < q.dead_zone) scaled = 0;
  if (!(__builtin_fabs(scaled) <= limit + 1)) return false;
  code = CodeOf<T>(sizeof(T) == 4 ? __builtin_lrintf(float(scaled)) : __builtin_lrint(double(scaled)));
  reconstructed = p + T(code) * q.step;
  return __builtin_fabs(T(code)) <= limit;
}

// Codes beyond the limit are left alone.
template <class T>
bool quantize(const T* x, int stride, const T* p, int n, const Uniform<T>& q, CodeOf<T>* code, T* reconstructed) {
  bool good = true;
  for (int i = 0; i < n; i++)
    good &= code_of(x[stride * i], p[i], q, q.code_limit, code[i], reconstructed[i]) &&
            __builtin_fabs(x[stride * i] - reconstructed[i]) <= q.safe;
  return good;
}

template <class T>
void dequantize(const CodeOf<T>* code, const T* p, int n, const Uniform<T>& q, T* reconstructed) {
  for (int i = 0; i < n; i++) reconstructed[i] = p[i] + T(code[i]) * q.step;
}

// ---------------------------------------------------------------- classes

// Calls f(sample, raster index) for all samples of a class.
template <class T, class F>
void for_samples(const ClassTask<T>& task, F f) {
  const ClassRows& r = task.rows;
  u32 index = 0;
  for (i64 i = 0; i < r.n[0]; i++)
    for (i64 j = 0; j < r.n[1]; j++)
      for (i64 k = 0; k < r.n[2]; k++)
        for (i64 x = 0; x < r.n[3]; x++) f(task.samples + i * r.stride[0] + j * r.stride[1] + k * r.stride[2] + x, index++);
}

// The sample before it is encoded.
template <class T>
T original(const ClassTask<T>& task, const T* sample, u32 index) {
  if (!task.originals) return *sample;
  const i64* n = task.rows.n;
  const std::ptrdiff_t* stride = task.original_stride;
  const i64 x = index % n[3], k = index / n[3] % n[2], j = index / n[3] / n[2] % n[1], i = index / n[3] / n[2] / n[1];
  return task.originals[i * stride[0] + j * stride[1] + k * stride[2] + 2 * x];
}

template <class T>
T predicted(const ClassTask<T>& task, const T* sample) {
  return task.weights ? prediction(sample, task.taps, task.weights) : middle(sample, task.taps.offset, task.taps.taps[0]);
}

template <class T>
u32 encode_class(const ClassTask<T>& task, const u8* mask, u8* bytes, FailedSample<T>* failed) {
  const Uniform<T>& q = task.quantizer;
  u32 failures = 0;
  for_samples(task, [&](T* sample, u32 index) {
    const T p = predicted(task, sample), given = original(task, sample, index), x = mask && mask[index] ? p : given;
    CodeOf<T> code = 0;
    T r = 0;
    const bool coded = code_of(x, p, q, T(largest_byte_code), code, r) && __builtin_fabs(x - r) <= q.safe;
    const bool avoided = q.avoid_from <= q.avoid_to && r >= q.avoid_from && r <= q.avoid_to;
    if (coded && !avoided) {
      *sample = r;
      bytes[index] = u8(code < 0 ? -2 * code - 1 : 2 * code);
    } else {
      *sample = given;
      failed[failures++] = {index, sample, p};
    }
  });
  return failures;
}

// The sample of a small code.
template <class T>
T sample_of(const ClassTask<T>& task, T p, int code) {
  if (!task.integers) return p + T(code) * task.quantizer.step;
  const CodeOf<T> number = code;
  T sample;
  return dequantize_integers(&number, &p, 1, task.integers->step, &sample) ? sample
                                                                           : task.integers->reconstruct(task.integers->quantizer, p, code);
}

template <class T>
void decode_class(const ClassTask<T>& task, const u8* bytes) {
  for_samples(task, [&](T* sample, u32 index) {
    const int z = bytes[index], code = z % 2 ? -(z + 1) / 2 : z / 2;
    *sample = sample_of(task, predicted(task, sample), code);
  });
}

// ---------------------------------------------------------------- classes with residual feedback

inline i16 saturated(int v) { return i16(v > 32767 ? 32767 : v < -32768 ? -32768 : v); }

// What feedback adds to predictions, sample by sample, from residuals in an array of the whole class.
template <class T>
class FeedbackSums {
 public:
  FeedbackSums(const ClassTask<T>& task, const FeedbackTask<T>& f)
      : n_(task.rows.n), f_(f), residual_(size_t(n_[0] * n_[1] * n_[2] * n_[3])) {}
  size_t index(const i64* at) const { return size_t(((at[0] * n_[1] + at[1]) * n_[2] + at[2]) * n_[3] + at[3]); }
  void set(const i64* at, i16 sum, int code) {
    const int largest = 32767 >> f_.bits, counts = code > largest ? largest : code < -largest ? -largest : code;
    residual_[index(at)] = saturated(sum + counts * (1 << f_.bits));
  }
  i16 sum(const i64* at) const {
    int half = 0;
    for (int t = 0; t < f_.terms; t++) half = saturated(half + weighted(before(at, f_.axis[t]), f_.before[at[3] % 2][t]));
    if (at[3] % 2) {
      const size_t here = index(at);
      const i16 behind = at[3] + 1 < n_[3] ? residual_[here + 1] : i16(0);
      half = saturated(half + weighted(saturated(residual_[here - 1] + behind), f_.beside));
    }
    return saturated(2 * half);
  }
  // Becomes the history after the last row.
  void put_history() const {
    for (i64 j = 0; j < (f_.slowest < 1 ? n_[1] : 1); j++)
      for (i64 k = 0; k < (f_.slowest < 2 ? n_[2] : 1); k++)
        for (i64 x = 0; x < n_[3]; x++) {
          const i64 at[4] = {n_[0] - 1, f_.slowest < 1 ? j : n_[1] - 1, f_.slowest < 2 ? k : n_[2] - 1, x};
          *history(at) = residual_[index(at)];
        }
  }

 private:
  static int weighted(int residual, int weight) { return int(__builtin_floor((residual * weight + 64) / 128.0)); }
  i16* history(const i64* at) const {
    const std::ptrdiff_t row = (f_.slowest < 1 ? at[1] * n_[2] : 0) + (f_.slowest < 2 ? at[2] : 0);
    return f_.history + row * f_.pitch + (at[3] % 2 ? f_.pitch / 2 : 0) + at[3] / 2;
  }
  // From the history where the index before belongs to another task.
  i16 before(const i64* at, int axis) const {
    if (axis < f_.slowest) return 0;
    i64 other[4] = {at[0], at[1], at[2], at[3]};
    if (other[axis]-- > 0) return residual_[index(other)];
    return axis == f_.slowest ? *history(at) : i16(0);
  }
  const i64* n_;
  const FeedbackTask<T>& f_;
  std::vector<i16> residual_;
};

// Calls code(sample, raster index, prediction) -> code that counts, even samples of a row first; then sets the history.
template <class T, class F>
void for_samples_with_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, F code) {
  const ClassRows& r = task.rows;
  FeedbackSums<T> sums(task, f);
  i64 at[4];
  for (at[0] = 0; at[0] < r.n[0]; at[0]++)
    for (at[1] = 0; at[1] < r.n[1]; at[1]++)
      for (at[2] = 0; at[2] < r.n[2]; at[2]++)
        for (i64 parity : {0, 1})
          for (at[3] = parity; at[3] < r.n[3]; at[3] += 2) {
            T* sample = task.samples + at[0] * r.stride[0] + at[1] * r.stride[1] + at[2] * r.stride[2] + at[3];
            const i16 sum = sums.sum(at);
            sums.set(at, sum, code(sample, u32(sums.index(at)), predicted(task, sample) + T(sum) * f.unit));
          }
  if (r.n[0] * r.n[1] * r.n[2] > 0) sums.put_history();
}

inline int code_of_byte(u8 z) { return z == byte_escape ? 0 : z % 2 ? -(z + 1) / 2 : z / 2; }

template <class T>
void encode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* mask, u8* bytes) {
  const Uniform<T>& q = task.quantizer;
  for_samples_with_feedback(task, f, [&](T* sample, u32 index, T p) {
    const T given = original(task, sample, index), x = mask && mask[index] ? p : given;
    CodeOf<T> code = 0;
    T r = 0;
    const bool coded = code_of(x, p, q, T(largest_byte_code), code, r) && __builtin_fabs(x - r) <= q.safe;
    const bool avoided = q.avoid_from <= q.avoid_to && r >= q.avoid_from && r <= q.avoid_to;
    bytes[index] = coded && !avoided ? u8(code < 0 ? -2 * code - 1 : 2 * code) : f.requantize(f.encoder, index, given, p, &r);
    *sample = r;
    return code_of_byte(bytes[index]);
  });
}

template <class T>
void decode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* bytes) {
  for_samples_with_feedback(task, f, [&](T* sample, u32 index, T p) {
    const int code = code_of_byte(bytes[index]);
    *sample = task.integers && bytes[index] == byte_escape ? p : sample_of(task, p, code);
    return code;
  });
}

}  // namespace
}  // namespace check
