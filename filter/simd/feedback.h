// Codes a whole parity class with residual feedback (predict/feedback.h). Included by kernels.cpp only.
//
// Residuals are 16-bit integers. A row of the history holds the residuals of samples of even index, padded with zeros to whole vectors,
// followed by those of odd index, which depend on their neighbours on both sides. Rows are processed in raster order. They depend on each
// other's residuals, but not on predictions, so predictions are made for many vectors at once.
#pragma once
#include "simd/predict.h"
#include "simd/short_vectors.h"

namespace stz {
namespace {

// The residuals that a row depends on, and where its own go. Those of odd index are half a pitch behind those of even index.
struct FeedbackRow {
  const i16* before[3];  // residuals for the weights FeedbackTask::before
  i16* own;
};

template <class T>
class FeedbackHistory {
 public:
  FeedbackHistory(const ClassTask<T>& task, const FeedbackTask<T>& f)
      : f_(f), step_{0, std::ptrdiff_t(f.slowest < 1 ? task.rows.n[2] * f.pitch : 0), std::ptrdiff_t(f.slowest < 2 ? f.pitch : 0)} {}
  STZ_INLINE FeedbackRow row(i64 i, i64 j, i64 k) const {
    const i64 at[3] = {i, j, k};
    FeedbackRow row{{f_.zeros, f_.zeros, f_.zeros}, nullptr};
    row.own = f_.history + j * step_[1] + k * step_[2];
    for (int t = 0; t < f_.terms; t++) {
      const int axis = f_.axis[t];
      row.before[t] = axis == f_.slowest ? row.own : axis > f_.slowest && at[axis] > 0 ? row.own - step_[axis] : f_.zeros;
    }
    return row;
  }

 private:
  const FeedbackTask<T>& f_;
  const std::ptrdiff_t step_[3];
};

struct FeedbackWeights {
  Shorts before[2][3], beside;  // 256 times the weights
  const int bits;
  const i16 largest;  // largest code whose residual fits; larger codes count as this
  template <class T>
  explicit FeedbackWeights(const FeedbackTask<T>& f)
      : beside(all_shorts(i16(f.beside * 256))), bits(f.bits), largest(i16(32767 >> f.bits)) {
    for (int parity : {0, 1})
      for (int t = 0; t < 3; t++) before[parity][t] = all_shorts(i16(t < f.terms ? f.before[parity][t] * 256 : 0));
  }
  // Half of the feedback sums without the neighbours in the row. `at`: place in the rows of the history.
  template <int terms, int parity>
  STZ_INLINE Shorts half_sums(const FeedbackRow& row, std::ptrdiff_t at) const {
    Shorts sum{};
    if constexpr (terms > 0) sum = weighted(load_shorts(row.before[0] + at), before[parity][0]);
    if constexpr (terms > 1) sum = add_saturated(sum, weighted(load_shorts(row.before[1] + at), before[parity][1]));
    if constexpr (terms > 2) sum = add_saturated(sum, weighted(load_shorts(row.before[2] + at), before[parity][2]));
    return sum;
  }
  // Feedback sums of samples of even index, and of those of odd index half a pitch behind. `here`: residuals of even index starting at the
  // left neighbours; `next`: those of the following vector.
  template <int terms>
  STZ_INLINE Shorts even_sums(const FeedbackRow& row, std::ptrdiff_t at) const {
    const Shorts half = half_sums<terms, 0>(row, at);
    return add_saturated(half, half);
  }
  template <int terms>
  STZ_INLINE Shorts odd_sums(const FeedbackRow& row, std::ptrdiff_t at, Shorts here, Shorts next) const {
    const Shorts beside_them = weighted(add_saturated(here, one_lane_on(here, next)), beside);
    const Shorts half = add_saturated(half_sums<terms, 1>(row, at), beside_them);
    return add_saturated(half, half);
  }
  // The residuals of `left` samples, followed by zeros.
  STZ_INLINE Shorts residuals(Shorts sums, Shorts codes, int left) const {
    return first_shorts(add_saturated(sums, clamped(codes, largest) << bits), left);
  }
};

// ---------------------------------------------------------------- decoding

// Computes sums and codes, in raster order, of a row of n samples from their bytes. Escaped codes count as 0.
template <int terms>
STZ_INLINE void decode_feedback_row(const FeedbackWeights& weights, const FeedbackRow& row, std::ptrdiff_t odd, int n, const u8* bytes,
                                    i16* sums, i8* codes) {
  struct Even {
    Shorts sums, residuals, odd_codes;
  };
  const int evens = (n + 1) / 2, odds = n / 2;
  auto even_at = [&](int h) __attribute__((always_inline)) {
    const Bytes code = codes_of_zigzag(load_raw_bytes(bytes + 2 * h));
    store_raw_bytes(reinterpret_cast<u8*>(codes) + 2 * h, code);
    const Shorts sum = weights.template even_sums<terms>(row, h);
    const Even e{sum, weights.residuals(sum, even_bytes(code), evens - h), odd_bytes(code)};
    store_shorts(row.own + h, e.residuals);
    return e;
  };
  Even e = even_at(0);
  for (int h = 0; h < evens; h += short_lanes) {
    Even next{};
    if (h + short_lanes < evens) next = even_at(h + short_lanes);
    const Shorts sum = weights.template odd_sums<terms>(row, odd + h, e.residuals, next.residuals);
    store_shorts(row.own + odd + h, weights.residuals(sum, e.odd_codes, odds - h));
    store_shorts(sums + 2 * h, interleave_shorts<0>(e.sums, sum, Lanes<short_lanes>{}));
    store_shorts(sums + 2 * h + short_lanes, interleave_shorts<short_lanes / 2>(e.sums, sum, Lanes<short_lanes>{}));
    e = next;
  }
}

template <class T, class Samples, int terms>
void decode_feedback_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* bytes) {
  using Code = CodeOf<T>;
  const int n = int(task.rows.n[3]);
  if (n == 0) return;
  const T unit = f.unit;
  const Samples samples(task);
  const FeedbackWeights weights(f);
  const FeedbackHistory<T> history(task, f);
  i16* const sums = f.sums;
  i8* const codes = reinterpret_cast<i8*>(f.codes);
  const std::ptrdiff_t pitch = f.pitch;
  // Number of rows whose samples may still wait for their predictions.
  const u32 slots = n <= FeedbackTask<T>::short_row ? FeedbackTask<T>::slots : 2;
  u32 slot = 0;
  for_predicted<1>(
      task, task.rows.n[2],
      [&](i64 i, i64 j, i64 k, u32 index) __attribute__((always_inline)) {
        const std::ptrdiff_t at = std::ptrdiff_t(slot) * pitch;
        slot = slot + 1 == slots ? 0 : slot + 1;
        decode_feedback_row<terms>(weights, history.row(i, j, k), pitch / 2, n, bytes + index, sums + at, codes + at);
        return at;
      },
      [&](T * place, u32 index, int left, Vector<T> p, std::ptrdiff_t at) __attribute__((always_inline)) {
        p += real_of<T>(load_integers_of<Code>(sums + at)) * unit;
        const Vector<T> sample = samples(p, load_integers_of<Code>(codes + at), left);
        if constexpr (std::is_same_v<Samples, UniformSamples<T>>)
          store<T>(place, sample);
        else  // escaped codes, which count as 0, leave the prediction as it is
          store<T>(place, load_bytes<Code>(bytes + index) == byte_escape ? p : sample);
      });
}

// ---------------------------------------------------------------- encoding

constexpr i16 escaped_code = -128;  // its zig-zag byte is byte_escape

// Quantizes rows of a class, samples of even and odd index in turn.
template <class T>
struct FeedbackQuantizer {
  using Code = CodeOf<T>;
  static constexpr int lanes = lanes_of<T>;
  const ClassTask<T>& task;
  const FeedbackTask<T>& f;
  // Kept as vectors, because the compiler must assume that stores change the task.
  const Vector<T> inverse = all_lanes_of(task.quantizer.inverse), step = all_lanes_of(task.quantizer.step), unit = all_lanes_of(f.unit);
  const T safe = task.quantizer.safe, avoid_from = task.quantizer.avoid_from, avoid_to = task.quantizer.avoid_to,
          dead_zone = task.quantizer.dead_zone;
  const bool avoids = avoid_from <= avoid_to;
  T* const even = f.even;

  static Vector<T> all_lanes_of(T v) { return Vector<T>{} + v; }
  // A row of n samples with their predictions. The first has number `index` in the class.
  struct Row {
    T* samples;
    const T* originals;  // every second element; null: same as the samples
    const T* predictions;
    const u8* mask;  // may be null
    u32 index;
    int n;
  };

  // The codes of short_lanes samples of a parity, starting at sample 2 h + parity, given their feedback sums. Reconstructions of even
  // samples are kept in f.even; both are stored to the samples with the odd ones.
  template <int parity>
  STZ_INLINE Shorts quantize(const Row& row, int h, Shorts sums) const {
    constexpr int parts = short_lanes / lanes;
    i16 sum[short_lanes];
    store_shorts(sum, sums);
    Vector<Code> code[parts];
    for (int k = 0; k < parts; k++) {
      code[k] = Vector<Code>{};
      if (2 * (h + k * lanes) < row.n) code[k] = quantize_part<parity>(row, h + k * lanes, sum + k * lanes);
    }
    return join_shorts<Code>(code);
  }

 private:
  // The same for `lanes` samples.
  template <int parity>
  STZ_INLINE Vector<Code> quantize_part(const Row& row, int h, const i16* sums) const {
    using Word = std::make_unsigned_t<Code>;  // out-of-range values wrap around; their codes are not used
    T* const at = row.samples + 2 * h;
    const bool both = 2 * h + lanes < row.n;  // both vectors; behind the row there may be foreign samples
    Vector<T> low, high{};
    if (row.originals) {
      low = load_every_second(row.originals + 4 * h);
      if (both) high = load_every_second(row.originals + 4 * h + 2 * lanes);
    } else {
      low = load<T>(at);
      if (both) high = load<T>(at + lanes);
    }
    Vector<T> x = alternate_lanes<parity, T>(low, high, Lanes<lanes>{});
    const T* const predicted = row.predictions + 2 * h;
    Vector<T> p = alternate_lanes<parity, T>(load<T>(predicted), load<T>(predicted + lanes), Lanes<lanes>{});
    p += real_of<T>(load_integers_of<Code>(sums)) * unit;
    if (row.mask) {
      const Vector<Code> first = load_bytes<Code>(row.mask + 2 * h), second = load_bytes<Code>(row.mask + 2 * h + lanes);
      x = (Vector<Code>)alternate_lanes<parity, T>((Vector<T>)first, (Vector<T>)second, Lanes<lanes>{}) != 0 ? p : x;
    }
    Vector<T> steps = (x - p) * inverse;
    if (__builtin_expect(dead_zone > 0, 0)) steps = outside<T>(steps, dead_zone);
    const Vector<T> u = steps + magic<T>, c = u - magic<T>;
    Vector<T> r = p + c * step;
    u32 good = at_most<T>(absolute<T>(x - r), safe) & at_most<T>(absolute<T>(c), T(largest_byte_code));
    if (__builtin_expect(avoids, 0)) good &= ~(at_most<T>(-r, -avoid_from) & at_most<T>(r, avoid_to));
    Vector<Code> code = (Vector<Code>)((Vector<Word>)u - Word(bits(magic<T>)));
    const int left = (row.n + 1 - parity) / 2 - h;
    const u32 failed = ~good & (left >= lanes ? all_lanes<T> : (1u << left) - 1);
    if (__builtin_expect(failed != 0, 0)) {  // copies, because variables whose address is taken would stay in memory
      Vector<T> r_of_all = r;
      Vector<Code> code_of_all = code;
      requantize(row, 2 * h + parity, failed, p, r_of_all, code_of_all);
      r = r_of_all;
      code = code_of_all;
    }
    if constexpr (parity == 0)
      store<T>(even + h, r);
    else {
      const Vector<T> before = load<T>(even + h);
      store<T>(at, interleave_lanes<0, T>(before, r, Lanes<lanes>{}));
      if (both) store<T>(at + lanes, interleave_lanes<lanes / 2, T>(before, r, Lanes<lanes>{}));
    }
    return code;
  }

  // Handles the lanes that failed. Lane i is sample `first` + 2 i of the row.
  __attribute__((noinline)) void requantize(const Row& row, int first, u32 failed, Vector<T> p, Vector<T>& r, Vector<Code>& code) const {
    for (int i = 0; i < lanes; i++) {
      if (!(failed >> i & 1)) continue;
      const int x = first + 2 * i;
      T reconstructed;
      const T original = row.originals ? row.originals[2 * x] : row.samples[x];
      const u8 byte = f.requantize(f.encoder, row.index + u32(x), original, T(p[i]), &reconstructed);
      r[i] = reconstructed;
      code[i] = byte == byte_escape ? escaped_code : Code(byte >> 1) ^ -Code(byte & 1);
    }
  }
};

STZ_INLINE Shorts small_codes(Shorts codes) { return codes & (codes != escaped_code); }
STZ_INLINE Shorts zigzag_shorts(Shorts code) { return code << 1 ^ code >> 15; }

template <class T, int terms>
STZ_INLINE void encode_feedback_row(const FeedbackQuantizer<T>& quantizer, const FeedbackWeights& weights, const FeedbackRow& row,
                                    const typename FeedbackQuantizer<T>::Row& samples, u8* bytes) {
  const std::ptrdiff_t odd = quantizer.f.pitch / 2;
  const int n = samples.n, evens = (n + 1) / 2, odds = n / 2;
  struct Even {
    Shorts residuals, codes;
  };
  auto even_at = [&](int h) __attribute__((always_inline)) {
    const Shorts sum = weights.template even_sums<terms>(row, h);
    const Shorts codes = quantizer.template quantize<0>(samples, h, sum);
    const Even e{weights.residuals(sum, small_codes(codes), evens - h), codes};
    store_shorts(row.own + h, e.residuals);
    return e;
  };
  Even e = even_at(0);
  for (int h = 0; h < evens; h += short_lanes) {
    Even next{};
    if (h + short_lanes < evens) next = even_at(h + short_lanes);
    const Shorts sum = weights.template odd_sums<terms>(row, odd + h, e.residuals, next.residuals);
    const Shorts codes = quantizer.template quantize<1>(samples, h, sum);
    store_shorts(row.own + odd + h, weights.residuals(sum, small_codes(codes), odds - h));
    const Bytes joined = join_bytes(zigzag_shorts(e.codes), zigzag_shorts(codes));
    store_first_bytes(bytes + 2 * h, joined, n - 2 * h);  // what follows the row belongs to other rows
    e = next;
  }
}

// Stores the prediction of each sample of some rows at its distance from the first sample. Not inlined: once for all variants of the
// caller.
template <class T>
__attribute__((noinline)) void predict_rows(const ClassTask<T>& rows, T* predictions) {
  T* const first = rows.samples;
  for_predicted<1>(
      rows, rows.rows.n[2], [](i64, i64, i64, u32) __attribute__((always_inline)) { return std::ptrdiff_t(0); },
      [=](T * place, u32, int, Vector<T> p, std::ptrdiff_t) __attribute__((always_inline)) { store<T>(predictions + (place - first), p); });
}

template <class T, int terms>
void encode_feedback_rows(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* mask, u8* bytes) {
  const ClassRows& r = task.rows;
  const int n = int(r.n[3]), vectors = (n + lanes_of<T> - 1) / lanes_of<T>;
  if (n == 0) return;
  const FeedbackWeights weights(f);
  const FeedbackHistory<T> history(task, f);
  const FeedbackQuantizer<T> quantizer{task, f};
  ClassTask<T> rows = task;  // the rows that are predicted at once
  const i64 together = vectors >= 4 ? 1 : 4 / vectors;
  const std::ptrdiff_t* apart = task.original_stride;
  u32 index = 0;
  for (i64 i = 0; i < r.n[0]; i++)
    for (i64 j = 0; j < r.n[1]; j++)
      for (i64 from = 0; from < r.n[2]; from += together) {
        const i64 count = r.n[2] - from < together ? r.n[2] - from : together;
        rows.samples = task.samples + i * r.stride[0] + j * r.stride[1] + from * r.stride[2];
        rows.rows.n[0] = rows.rows.n[1] = 1;
        rows.rows.n[2] = count;
        predict_rows(rows, f.predictions);
        for (i64 k = 0; k < count; k++, index += u32(n)) {
          const std::ptrdiff_t at = k * r.stride[2];
          const T* originals = task.originals ? task.originals + i * apart[0] + j * apart[1] + (from + k) * apart[2] : nullptr;
          ask_for(task.ahead);
          encode_feedback_row<T, terms>(quantizer, weights, history.row(i, j, from + k),
                                        {rows.samples + at, originals, f.predictions + at, mask ? mask + index : nullptr, index, n},
                                        bytes + index);
        }
      }
}

template <class T>
void decode_feedback(const ClassTask<T>& task, const FeedbackTask<T>& f, const u8* bytes) {
  using Uniforms = UniformSamples<T>;
  constexpr decltype(&decode_feedback_rows<T, Uniforms, 0>) by_terms[] = {
      decode_feedback_rows<T, Uniforms, 0>, decode_feedback_rows<T, Uniforms, 1>, decode_feedback_rows<T, Uniforms, 2>,
      decode_feedback_rows<T, Uniforms, 3>};
  if (task.integers)  // one body, in which further terms are zeros
    decode_feedback_rows<T, IntegerSamples<T>, 3>(task, f, bytes);
  else
    by_terms[f.terms](task, f, bytes);
}

}  // namespace
}  // namespace stz
