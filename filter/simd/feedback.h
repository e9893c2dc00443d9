// Coding of a whole parity class with residual feedback (format/feedback.h). Included by kernels.cpp only.
//
// A row is done in two passes over its vectors, because samples of odd index wait for their neighbours on both sides: the first one finds
// the residuals of the samples of even index, the second one the others and what is written. Rows follow one another in raster order.
#pragma once
#include "simd/predict.h"

namespace stz {
namespace {

template <class T>
constexpr u32 even_lanes = 0x5555 & all_lanes<T>;

template <class T, int... i>
STZ_INLINE Vector<CodeOf<T>> odd_lanes(std::integer_sequence<int, i...>) {
  return Vector<CodeOf<T>>{CodeOf<T>(-(i & 1))...};
}
// Both neighbours of the lanes of `v`, whose next vector is `next`; right for odd lanes only.
template <class T, int... i>
STZ_INLINE Vector<T> sum_of_neighbours(Vector<T> v, Vector<T> next, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Vector<CodeOf<T>>, v, next, (i > 0 ? i - 1 : 0)...) + STZ_SHUFFLE(Vector<CodeOf<T>>, v, next, (i + 1)...);
}
// Lanes from `count` on become 0.
template <class T, int... i>
STZ_INLINE Vector<T> first_lanes(Vector<T> v, int count, std::integer_sequence<int, i...>) {
  using Code = CodeOf<T>;
  return (Vector<T>)((Vector<Code>)v & (Vector<Code>{Code(i)...} < Code(count)));
}
// Codes from zig-zag bytes; those that stand for other codes count as 0.
template <class Code>
STZ_INLINE Vector<Code> codes_of_bytes(Vector<Code> z) {
  return ((z >> 1) ^ -(z & 1)) & (z != Code(byte_escape));
}
template <class T>
STZ_INLINE Vector<T> real_of_codes(Vector<CodeOf<T>> code) {
  return (Vector<T>)(code + bits(magic<T>)) - magic<T>;
}

// One row of a class with its place in the history.
template <class T>
struct FeedbackRow {
  T* samples;
  u32 index;  // raster number of the first sample
  int n;
  const T* before[3];  // residuals that count with the weights of FeedbackTask::before
  T* own;              // becomes those of this row
};

// Calls code(row) for all rows, with predictions of the stencil in task.scratch.
template <class T, class F>
STZ_INLINE void for_feedback_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, F code) {
  const ClassRows& r = task.rows;
  const int n = int(r.n[3]);
  if (n == 0) return;
  const std::ptrdiff_t step[3] = {0, f.slowest < 1 ? r.n[2] * f.pitch : 0, f.slowest < 2 ? f.pitch : 0};
  u32 index = 0;
  for (i64 i = 0; i < r.n[0]; i++)
    for (i64 j = 0; j < r.n[1]; j++)
      for (i64 k = 0; k < r.n[2]; k++, index += u32(n)) {
        const i64 at[3] = {i, j, k};
        FeedbackRow<T> row{task.samples + i * r.stride[0] + j * r.stride[1] + k * r.stride[2], index, n, {}, nullptr};
        row.own = f.history + j * step[1] + k * step[2];
        for (int t = 0; t < f.terms; t++) {
          const int axis = f.axis[t];
          row.before[t] = axis == f.slowest ? row.own : axis > f.slowest && at[axis] > 0 ? row.own - step[axis] : f.zeros;
        }
        if (task.weights)
          predict<T>(row.samples, task.taps, task.weights, n, f.predictions);
        else
          median<T>(row.samples, task.taps.offset, task.taps.taps[0], n, f.predictions);
        code(row);
      }
}

// The weights of lanes, which are those of even and odd samples in turn.
template <class T>
struct FeedbackWeights {
  Vector<T> before[3];
  explicit FeedbackWeights(const FeedbackTask<T>& f) {
    for (int t = 0; t < 3; t++)
      for (int i = 0; i < lanes_of<T>; i++) before[t][i] = f.before[i & 1][t];
  }
  template <int terms>
  STZ_INLINE Vector<T> sum(const FeedbackRow<T>& row, int x) const {
    Vector<T> sum{};
    if constexpr (terms > 0) sum = load<T>(row.before[0] + x) * before[0];
    if constexpr (terms > 1) sum += load<T>(row.before[1] + x) * before[1];
    if constexpr (terms > 2) sum += load<T>(row.before[2] + x) * before[2];
    return sum;
  }
};

// The second pass of a row: calls code(x, sum of feedback) for every vector, which returns the residuals.
template <class T, class F>
STZ_INLINE void for_both_neighbours(const FeedbackRow<T>& row, const FeedbackTask<T>& f, F code) {
  constexpr int lanes = lanes_of<T>;
  const Vector<CodeOf<T>> odd = odd_lanes<T>(Lanes<lanes>{});
  Vector<T> here = load<T>(row.own);
  for (int x = 0; x < row.n; x += lanes) {
    Vector<T> next{};
    if (x + lanes < row.n) next = load<T>(row.own + x + lanes);
    const Vector<T> sum = load<T>(f.sums + x), with_both = sum + sum_of_neighbours<T>(here, next, Lanes<lanes>{}) * f.beside;
    store<T>(row.own + x, first_lanes<T>(code(x, odd ? with_both : sum), row.n - x, Lanes<lanes>{}));
    here = next;
  }
}

template <class T, int terms>
void decode_feedback_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* bytes) {
  using Code = CodeOf<T>;
  constexpr int lanes = lanes_of<T>;
  const T step = task.quantizer.step;
  const FeedbackWeights<T> weights(f);
  for_feedback_rows(
      task, f, [&](const FeedbackRow<T>& row) __attribute__((always_inline)) {
        auto steps = [&](int x) __attribute__((always_inline)) {
          return real_of_codes<T>(codes_of_bytes<Code>(load_bytes<Code>(bytes + row.index + x))) * step;
        };
        for (int x = 0; x < row.n; x += lanes) {
          const Vector<T> sum = weights.template sum<terms>(row, x);
          store<T>(f.sums + x, sum);
          store<T>(row.own + x, first_lanes<T>(sum + steps(x), row.n - x, Lanes<lanes>{}));
        }
        for_both_neighbours(
            row, f, [&](int x, Vector<T> sum) __attribute__((always_inline)) {
              const Vector<T> c = steps(x);
              store<T>(row.samples + x, (load<T>(f.predictions + x) + sum) + c);
              return Vector<T>(sum + c);
            });
      });
}

// What quantising a vector gives.
template <class T>
struct QuantizedVector {
  Vector<T> residual, reconstructed;  // the residual as feedback sees it
  Vector<CodeOf<T>> zigzag;
};

template <class T>
struct FeedbackQuantizer {
  using Code = CodeOf<T>;
  const ClassTask<T>& task;
  const FeedbackTask<T>& feedback;
  const u8* mask;

  // `wanted`: the lanes that are; `keep`: whether samples that fail are listed by the way.
  STZ_INLINE QuantizedVector<T> code(const FeedbackRow<T>& row, int x, Vector<T> sum, u32 wanted, bool keep) const {
    using Word = std::make_unsigned_t<Code>;
    const Uniform<T>& q = task.quantizer;
    const Vector<T> p = load<T>(feedback.predictions + x) + sum;
    Vector<T> original = load<T>(row.samples + x);
    if (mask) original = (load_bytes<Code>(mask + row.index + x) != 0) ? p : original;
    const Vector<T> u = (original - p) * q.inverse + magic<T>, c = u - magic<T>, steps = c * q.step;
    QuantizedVector<T> v;
    v.reconstructed = p + steps;
    v.residual = sum + steps;
    u32 good = at_most<T>(absolute<T>(original - v.reconstructed), q.safe) & at_most<T>(absolute<T>(c), T(largest_byte_code));
    if (__builtin_expect(q.avoid_from <= q.avoid_to, 0))
      good &= ~(at_most<T>(-v.reconstructed, -q.avoid_from) & at_most<T>(v.reconstructed, q.avoid_to));
    const Codes code = (Codes)((Vector<Word>)u - Word(bits(magic<T>)));
    v.zigzag = (code << 1) ^ (code >> (8 * sizeof(Code) - 1));
    if (row.n - x < lanes_of<T>) wanted &= (1u << (row.n - x)) - 1;
    if (__builtin_expect((wanted & ~good) != 0, 0)) requantize(row, x, sum, p, wanted & ~good, keep, v);
    return v;
  }

 private:
  using Codes = Vector<Code>;
  __attribute__((noinline)) void requantize(const FeedbackRow<T>& row, int x, Vector<T> sum, Vector<T> p, u32 failed, bool keep,
                                            QuantizedVector<T>& v) const {
    for (int i = 0; i < lanes_of<T>; i++) {
      if (!(failed >> i & 1)) continue;
      T r;
      const u8 byte = feedback.requantize(feedback.encoder, row.index + u32(x + i), row.samples[x + i], T(p[i]), keep, &r);
      v.zigzag[i] = byte;
      v.reconstructed[i] = r;
      v.residual[i] = sum[i] + T(byte == byte_escape ? 0 : (byte >> 1) ^ -(byte & 1)) * task.quantizer.step;
    }
  }
};

template <class T, int terms>
void encode_feedback_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* mask, u8* bytes) {
  constexpr int lanes = lanes_of<T>;
  const FeedbackWeights<T> weights(f);
  const FeedbackQuantizer<T> quantizer{task, f, mask};
  for_feedback_rows(
      task, f, [&](const FeedbackRow<T>& row) __attribute__((always_inline)) {
        for (int x = 0; x < row.n; x += lanes) {
          const Vector<T> sum = weights.template sum<terms>(row, x);
          store<T>(f.sums + x, sum);
          const QuantizedVector<T> v = quantizer.code(row, x, sum, even_lanes<T>, false);
          store<T>(row.own + x, first_lanes<T>(v.residual, row.n - x, Lanes<lanes>{}));
        }
        for_both_neighbours(
            row, f, [&](int x, Vector<T> sum) __attribute__((always_inline)) {
              const QuantizedVector<T> v = quantizer.code(row, x, sum, all_lanes<T>, true);
              u8* out = bytes + row.index + x;
              if (row.n - x >= lanes)
                store_bytes<CodeOf<T>>(out, v.zigzag);
              else  // what follows the row is no sample of it
                for (int i = 0; i < row.n - x; i++) out[i] = u8(v.zigzag[i]);
              store<T>(row.samples + x, v.reconstructed);
              return v.residual;
            });
      });
}

template <class T>
void decode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* bytes) {
  constexpr decltype(&decode_feedback_rows<T, 0>) by_terms[] = {decode_feedback_rows<T, 0>, decode_feedback_rows<T, 1>,
                                                                decode_feedback_rows<T, 2>, decode_feedback_rows<T, 3>};
  by_terms[f.terms](task, f, bytes);
}
template <class T>
void encode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* mask, u8* bytes) {
  constexpr decltype(&encode_feedback_rows<T, 0>) by_terms[] = {encode_feedback_rows<T, 0>, encode_feedback_rows<T, 1>,
                                                                encode_feedback_rows<T, 2>, encode_feedback_rows<T, 3>};
  by_terms[f.terms](task, f, mask, bytes);
}

}  // namespace
}  // namespace stz
