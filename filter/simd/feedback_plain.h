// Encodes a class with residual feedback two rows at a time. Included by kernels.cpp only.
#pragma once
#include "simd/feedback.h"

namespace stz {
namespace {

// Lanes k * lanes_of<Int> and so on of a vector of shorts, as integers.
template <class Int, int k>
STZ_INLINE Vector<Int> integers_of(Shorts v) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64((__m512i)v, k));
  else
    return (Vector<Int>)_mm512_cvtepi16_epi64(_mm512_extracti32x4_epi32((__m512i)v, k));
#else
  i16 parts[short_lanes];
  store_shorts(parts, v);
  return load_integers_of<Int>(parts + k * lanes_of<Int>);
#endif
}

// Rows that are whole vectors of samples, without masks, ranges to avoid and dead zones. Samples of even index are coded together with
// those of odd index of the row before. They do not depend on each other, and each of them waits long for its own results.
template <class T, int terms>
struct PlainRows {
  using Code = CodeOf<T>;
  static constexpr int lanes = lanes_of<T>, parts = short_lanes / lanes;
  using Parts = std::make_integer_sequence<int, parts>;

  struct Row {
    FeedbackRow history;
    T* samples;
    const T* originals;
    T *predictions, *even;
    i16 *residuals, *codes;  // of the samples of even index; a vector of zeros behind the residuals
    u32 index;
  };

  const FeedbackTask<T>& f;
  const FeedbackWeights weights;
  const std::ptrdiff_t odd;
  const Vector<T> inverse, step, unit, safe;
  const bool has_originals;

  PlainRows(const ClassTask<T>& task, const FeedbackTask<T>& f)
      : f(f),
        weights(f),
        odd(f.pitch / 2),
        inverse(Vector<T>{} + task.quantizer.inverse),
        step(Vector<T>{} + task.quantizer.step),
        unit(Vector<T>{} + f.unit),
        safe(Vector<T>{} + task.quantizer.safe),
        has_originals(task.originals != nullptr) {}

  template <int parity>
  static STZ_INLINE Vector<T> alternate(const T* p) {
    return alternate_lanes<parity, T>(load<T>(p), load<T>(p + lanes), Lanes<lanes>{});
  }

  template <int parity, int... k>
  STZ_INLINE Shorts quantize(const Row& row, int h, Shorts sums, std::integer_sequence<int, k...>) const {
    using Word = std::make_unsigned_t<Code>;  // the bits of a value out of range wrap around; its code is not used
    T* const at = row.samples + 2 * h;
    Vector<T> x[parts], p[parts], r[parts];
    Vector<Code> code[parts];
    if (has_originals)
      ((x[k] = alternate_lanes<parity, T>(load_every_second(row.originals + 4 * (h + k * lanes)),
                                          load_every_second(row.originals + 4 * (h + k * lanes) + 2 * lanes), Lanes<lanes>{})),
       ...);
    else
      ((x[k] = alternate<parity>(at + 2 * k * lanes)), ...);
    ((p[k] = alternate<parity>(row.predictions + 2 * (h + k * lanes)) + real_of<T>(integers_of<Code, k>(sums)) * unit), ...);
    u32 good = all_lanes<T>;
    auto one = [&](int v) __attribute__((always_inline)) {
      const Vector<T> u = (x[v] - p[v]) * inverse + magic<T>, c = u - magic<T>;
      r[v] = p[v] + c * step;
      good &= at_most<T>(absolute<T>(x[v] - r[v]), safe[0]) & at_most<T>(absolute<T>(c), T(largest_byte_code));
      code[v] = (Vector<Code>)((Vector<Word>)u - Word(bits(magic<T>)));
    };
    (one(k), ...);
    if (__builtin_expect(good != all_lanes<T>, 0)) {  // copies: what has an address would be in memory all the time
      Vector<T> x_of_all[parts], p_of_all[parts], r_of_all[parts];
      Vector<Code> code_of_all[parts];
      ((x_of_all[k] = x[k], p_of_all[k] = p[k], r_of_all[k] = r[k], code_of_all[k] = code[k]), ...);
      requantize<parity>(row, 2 * h + parity, x_of_all, p_of_all, r_of_all, code_of_all);
      ((r[k] = r_of_all[k], code[k] = code_of_all[k]), ...);
    }
    if constexpr (parity == 0)
      (store<T>(row.even + h + k * lanes, r[k]), ...);
    else {
      auto put = [&](int v) __attribute__((always_inline)) {
        const Vector<T> before = load<T>(row.even + h + v * lanes);
        store<T>(at + 2 * v * lanes, interleave_lanes<0, T>(before, r[v], Lanes<lanes>{}));
        store<T>(at + 2 * v * lanes + lanes, interleave_lanes<lanes / 2, T>(before, r[v], Lanes<lanes>{}));
      };
      (put(k), ...);
    }
    return join_shorts<Code>(code);
  }

  // Handles the samples that failed. `first`: index in the row of the first lane.
  template <int parity>
  __attribute__((noinline)) void requantize(const Row& row, int first, const Vector<T>* x, const Vector<T>* p, Vector<T>* r,
                                            Vector<Code>* code) const {
    for (int v = 0; v < parts; v++) {
      const Vector<T> c = ((x[v] - p[v]) * inverse + magic<T>)-magic<T>;
      const u32 good = at_most<T>(absolute<T>(x[v] - r[v]), safe[0]) & at_most<T>(absolute<T>(c), T(largest_byte_code));
      for (int i = 0; i < lanes; i++) {
        if (good >> i & 1) continue;
        T reconstructed;
        const u8 byte = f.requantize(f.encoder, row.index + u32(first + 2 * (v * lanes + i)), T(x[v][i]), T(p[v][i]), &reconstructed);
        r[v][i] = reconstructed;
        code[v][i] = byte == byte_escape ? escaped_code : Code(byte >> 1) ^ -Code(byte & 1);
      }
    }
  }

  STZ_INLINE void even(const Row& row, int h) const {
    const Shorts sum = weights.template even_sums<terms>(row.history, h);
    const Shorts codes = quantize<0>(row, h, sum, Parts{});
    const Shorts residuals = weights.residuals(sum, small_codes(codes), short_lanes);
    store_shorts(row.history.own + h, residuals);
    store_shorts(row.residuals + h, residuals);
    store_shorts(row.codes + h, codes);
  }
  STZ_INLINE void odds(const Row& row, int h, u8* bytes) const {
    const Shorts here = load_shorts(row.residuals + h), next = load_shorts(row.residuals + h + short_lanes);
    const Shorts sum = weights.template odd_sums<terms>(row.history, odd + h, here, next);
    const Shorts codes = quantize<1>(row, h, sum, Parts{});
    store_shorts(row.history.own + odd + h, weights.residuals(sum, small_codes(codes), short_lanes));
    store_raw_bytes(bytes + row.index + 2 * h, join_bytes(zigzag_shorts(load_shorts(row.codes + h)), zigzag_shorts(codes)));
  }
};

template <class T, int terms>
void encode_plain_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8*, u8* bytes) {
  using Rows = PlainRows<T, terms>;
  const ClassRows& r = task.rows;
  const int n = int(r.n[3]);
  if (n == 0) return;
  const Rows rows(task, f);
  const FeedbackHistory<T> history(task, f);
  const std::ptrdiff_t* apart = task.original_stride;
  typename Rows::Row waiting{};  // its samples of odd index are not coded yet
  u32 index = 0;
  for (int slot : {0, 1}) store_shorts(f.sums + slot * f.pitch + n / 2, Shorts{});
  for (i64 i = 0; i < r.n[0]; i++)
    for (i64 j = 0; j < r.n[1]; j++)
      for (i64 k = 0; k < r.n[2]; k++, index += u32(n)) {
        const std::ptrdiff_t slot = index / u32(n) % 2;
        const typename Rows::Row row{history.row(i, j, k),
                                     task.samples + i * r.stride[0] + j * r.stride[1] + k * r.stride[2],
                                     task.originals ? task.originals + i * apart[0] + j * apart[1] + k * apart[2] : nullptr,
                                     f.predictions + slot * n,
                                     f.even + slot * (f.pitch / 2),
                                     f.sums + slot * f.pitch,
                                     f.codes + slot * f.pitch,
                                     index};
        ask_for(task.ahead);
        if (task.weights)
          for (int x = 0; x < n; x += 4 * lanes_of<T>) predict_vectors<T, 4>(row.samples, x, task.taps, task.weights, row.predictions);
        else
          for (int x = 0; x < n; x += lanes_of<T>)
            store<T>(row.predictions + x, median_of<T>(row.samples + x, task.taps.offset, task.taps.taps[0]));
        if (index > 0)
          for (int h = 0; h < n / 2; h += short_lanes) {
            rows.even(row, h);
            rows.odds(waiting, h, bytes);
          }
        else
          for (int h = 0; h < n / 2; h += short_lanes) rows.even(row, h);
        waiting = row;
      }
  for (int h = 0; index > 0 && h < n / 2; h += short_lanes) rows.odds(waiting, h, bytes);
}

template <class T>
void encode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* mask, u8* bytes) {
  const Uniform<T>& q = task.quantizer;
  const bool plain = task.rows.n[3] % vector_bytes == 0 && !mask && !(q.avoid_from <= q.avoid_to) && !(q.dead_zone > 0);
  constexpr decltype(&encode_plain_rows<T, 0>) plain_rows[] = {encode_plain_rows<T, 0>, encode_plain_rows<T, 1>, encode_plain_rows<T, 2>,
                                                               encode_plain_rows<T, 3>};
  constexpr decltype(&encode_feedback_rows<T, 0>) other_rows[] = {encode_feedback_rows<T, 0>, encode_feedback_rows<T, 1>,
                                                                  encode_feedback_rows<T, 2>, encode_feedback_rows<T, 3>};
  (plain ? plain_rows : other_rows)[f.terms](task, f, mask, bytes);
}

}  // namespace
}  // namespace stz
