// Predicts samples from their neighbours, and codes whole parity classes with that. Included by kernels.cpp only.
#pragma once
#include "simd/samples.h"

namespace stz {
namespace {

// Adds weight * (sum of a group of `taps` taps) to the totals of `count` places.
template <class S, int count, int taps>
STZ_INLINE void add_group(const S* const* place, const std::ptrdiff_t* o, RealOf<S> weight, Vector<RealOf<S>>* total) {
  using R = RealOf<S>;
  Vector<R> sum[count];
  for (int v = 0; v < count; v++) sum[v] = load<S>(place[v] + o[0]) + load<S>(place[v] + o[1]);
  for (int t = 2; t < taps; t++)
    for (int v = 0; v < count; v++) sum[v] += load<S>(place[v] + o[t]);
  for (int v = 0; v < count; v++) total[v] += sum[v] * weight;
}

// Sums over groups of weight * (sum of the group's taps), at `count` places at once to hide the latency of the sums. Groups have 2, 4, 8
// or, over four axes, other even numbers of taps; the first has 2.
template <class S, int count>
STZ_INLINE void linear(const S* const* place, const TapTable& taps, const RealOf<S>* weights, Vector<RealOf<S>>* total) {
  using R = RealOf<S>;
  const std::ptrdiff_t* o = taps.offset;
  for (int v = 0; v < count; v++) total[v] = (load<S>(place[v] + o[0]) + load<S>(place[v] + o[1])) * weights[0];
  o += 2;
  for (int g = 1; g < taps.groups; g++) {
    const int n = taps.taps[g];
    if (n == 2)
      add_group<S, count, 2>(place, o, weights[g], total);
    else if (n == 4)
      add_group<S, count, 4>(place, o, weights[g], total);
    else if (n == 8)
      add_group<S, count, 8>(place, o, weights[g], total);
    else {
      Vector<R> sum[count];
      for (int v = 0; v < count; v++) sum[v] = load<S>(place[v] + o[0]);
      for (int t = 1; t < n; t++)
        for (int v = 0; v < count; v++) sum[v] += load<S>(place[v] + o[t]);
      for (int v = 0; v < count; v++) total[v] += sum[v] * weights[g];
    }
    o += n;
  }
}

// If the number of taps is even, the mean of the middle two.
template <class S>
Vector<RealOf<S>> median_of(const S* place, const std::ptrdiff_t* offsets, int count) {
  using R = RealOf<S>;
  Vector<R> v[80];  // four odd axes have 3^4 - 1 neighbours at distance one
  for (int t = 0; t < count; t++) v[t] = load<S>(place + offsets[t]);
  for (int i = 0; i <= count / 2; i++)  // sorts the smallest half
    for (int j = count - 1; j > i; j--) {
      auto swap = v[j] < v[j - 1];
      Vector<R> small = swap ? v[j] : v[j - 1], large = swap ? v[j - 1] : v[j];
      v[j - 1] = small;
      v[j] = large;
    }
  return count % 2 ? v[count / 2] : (v[count / 2 - 1] + v[count / 2]) * R(0.5);
}

// Predicts `count` vectors starting at x.
template <class S, int count>
STZ_INLINE void predict_vectors(const S* row, int x, const TapTable& taps, const RealOf<S>* weights, RealOf<S>* p) {
  using R = RealOf<S>;
  constexpr int lanes = lanes_of<R>;
  const S* place[count];
  Vector<R> total[count];
  for (int v = 0; v < count; v++) place[v] = row + x + v * lanes;
  linear<S, count>(place, taps, weights, total);
  for (int v = 0; v < count; v++) store<R>(p + x + v * lanes, total[v]);
}

template <class S>
void predict(const S* row, const TapTable& taps, const RealOf<S>* weights, int n, RealOf<S>* p) {
  constexpr int lanes = lanes_of<RealOf<S>>;
  int x = 0;
  for (; x + 2 * lanes < n; x += 4 * lanes) predict_vectors<S, 4>(row, x, taps, weights, p);
  if (x < n) predict_vectors<S, 2>(row, x, taps, weights, p);
}

template <class S>
void median(const S* row, const std::ptrdiff_t* offsets, int count, int n, RealOf<S>* p) {
  using R = RealOf<S>;
  for (int x = 0; x < n; x += lanes_of<R>) store<R>(p + x, median_of<S>(row + x, offsets, count));
}

template <class S>
void mean_of_valid(const S* row, const u8* kinds, const std::ptrdiff_t* offsets, const std::ptrdiff_t* kind_offsets, int count, int n,
                   RealOf<S>* mean) {
  using R = RealOf<S>;
  using Int = CodeOf<R>;
  for (int x = 0; x < n; x += lanes_of<R>) {
    Vector<R> all{}, valid{};
    Vector<Int> found{};
    for (int t = 0; t < count; t++) {
      const Vector<R> v = load<S>(row + x + offsets[t]);
      const Vector<Int> is_valid = load_bytes<Int>(kinds + x + kind_offsets[t]) == 0;
      all += v;
      valid += (Vector<R>)((Vector<Int>)v & is_valid);  // else zero
      found -= is_valid;
    }
    const Vector<Int> none = found == 0;
    const Vector<R> sum = (Vector<R>)(((Vector<Int>)all & none) | ((Vector<Int>)valid & ~none));
    store<R>(mean + x, sum / __builtin_convertvector(found | (none & Int(count)), Vector<R>));
  }
}

// Prefetches the next cache lines of rows ahead into the second-level cache: the first level would not keep them long enough.
STZ_INLINE void ask_for(RowsAhead* ahead) {
  if (!ahead) return;
  for (int k = 0; k < ahead->lines && ahead->rows > 0; k++) {
    __builtin_prefetch(ahead->row + ahead->asked, 0, 2);
    ahead->asked += 64;
    if (ahead->asked < ahead->size) continue;
    ahead->asked = 0;
    ahead->row += ahead->stride;
    ahead->rows--;
  }
}

// The originals of a vector of samples: every second element from `from` on.
template <class T>
STZ_INLINE Vector<T> load_every_second(const T* from) {
  return alternate_lanes<0, T>(load<T>(from), load<T>(from + lanes_of<T>), Lanes<lanes_of<T>>{});
}

// Calls code(place, raster index, samples left in the row, prediction, at) for every vector of a class. Before each row it calls
// start_row(i, j, k, raster index), which returns `at` for the first sample; `at` increases by `apart` per sample.
// Rows are walked in bands of `band_rows` over all planes, so that the neighbours of a band stay in the cache; inside a band the order is
// raster order. Up to three vectors are delayed beyond the start of later rows.
template <int apart, class T, class Row, class F>
STZ_INLINE void for_predicted(const ClassTask<T>& task, i64 band_rows, Row start_row, F code) {
  constexpr int lanes = lanes_of<T>, width = 4;
  T* place[width];
  u32 index[width];
  int left[width], waiting = 0;
  std::ptrdiff_t at[width];
  const ClassRows& r = task.rows;
  for (i64 band = 0; band < r.n[2]; band += band_rows) {
    const i64 band_end = band + band_rows < r.n[2] ? band + band_rows : r.n[2];
    for (i64 i = 0; i < r.n[0]; i++)
      for (i64 j = 0; j < r.n[1]; j++) {
        T* row = task.samples + i * r.stride[0] + j * r.stride[1] + band * r.stride[2];
        u32 row_index = u32(((i * r.n[1] + j) * r.n[2] + band) * r.n[3]);
        for (i64 k = band; k < band_end; k++, row += r.stride[2], row_index += u32(r.n[3])) {
          const std::ptrdiff_t row_at = start_row(i, j, k, row_index);
          for (i64 x = 0; x < r.n[3]; x += lanes) {
            place[waiting] = row + x;
            index[waiting] = row_index + u32(x);
            left[waiting] = int(r.n[3] - x);
            at[waiting] = row_at + apart * x;
            if (!task.weights) {
              code(place[0], index[0], left[0], median_of<T>(place[0], task.taps.offset, task.taps.taps[0]), at[0]);
              continue;
            }
            if (++waiting < width) continue;
            Vector<T> p[width];
            linear<T, width>(place, task.taps, task.weights, p);
            for (int v = 0; v < width; v++) code(place[v], index[v], left[v], p[v], at[v]);
            waiting = 0;
          }
        }
      }
  }
  for (int v = 0; v < waiting; v++) {
    Vector<T> p;
    linear<T, 1>(place + v, task.taps, task.weights, &p);
    code(place[v], index[v], left[v], p, at[v]);
  }
}
// The same for rows that do not depend on each other. `at` is the offset from the originals.
template <class T, class F>
STZ_INLINE void for_predicted(const ClassTask<T>& task, F code) {
  constexpr i64 band_rows = 8;
  const std::ptrdiff_t* stride = task.original_stride;
  for_predicted<2>(
      task, band_rows,
      [&](i64 i, i64 j, i64 k, u32) __attribute__((always_inline)) {
        ask_for(task.ahead);
        return i * stride[0] + j * stride[1] + k * stride[2];
      },
      code);
}

// Samples x become x' = p + c * step, with c as a zig-zag byte. Samples that cannot be coded in a byte are listed and not changed.
template <class T>
u32 encode_class(const ClassTask<T>& task, const u8* mask, u8* bytes, FailedSample<T>* failed) {
  using Code = CodeOf<T>;
  using Codes = Vector<Code>;
  using Word = std::make_unsigned_t<Code>;  // out-of-range values wrap around; their codes are not used
  const Uniform<T> q = task.quantizer;
  const bool avoids = q.avoid_from <= q.avoid_to, dead_zone = q.dead_zone > 0;
  u32 failures = 0;
  for_predicted(
      task, [&](T * place, u32 index, int left, Vector<T> p, std::ptrdiff_t at) __attribute__((always_inline)) {
        const Vector<T> original = task.originals ? load_every_second(task.originals + at) : load<T>(place);
        Vector<T> x = original;
        if (mask) x = (load_bytes<Code>(mask + index) != 0) ? p : x;
        Vector<T> steps = (x - p) * q.inverse;
        if (__builtin_expect(dead_zone, 0)) steps = outside<T>(steps, q.dead_zone);
        const Vector<T> u = steps + magic<T>, c = u - magic<T>;
        Vector<T> r = p + c * q.step;
        u32 good = at_most<T>(absolute<T>(x - r), q.safe) & at_most<T>(absolute<T>(c), T(largest_byte_code));
        if (__builtin_expect(avoids, 0)) good &= ~(at_most<T>(-r, -q.avoid_from) & at_most<T>(r, q.avoid_to));
        const Codes code = (Codes)((Vector<Word>)u - Word(bits(magic<T>)));
        const Codes zigzag = (code << 1) ^ (code >> (8 * sizeof(Code) - 1));
        if (left >= lanes_of<T>)
          store_bytes<Code>(bytes + index, zigzag);
        else {  // what follows the row belongs to other rows, whose bytes may be written already
          for (int i = 0; i < left; i++) bytes[index + u32(i)] = u8(zigzag[i]);
          good |= all_lanes<T> & ~((1u << left) - 1);
        }
        if (__builtin_expect(good != all_lanes<T>, 0))
          for (int i = 0; i < lanes_of<T>; i++)
            if (!(good >> i & 1)) {
              failed[failures++] = {index + u32(i), place + i, T(p[i])};
              r[i] = original[i];
            }
        store<T>(place, r);
      });
  return failures;
}

template <class T, class Samples>
void decode_class_as(const ClassTask<T>& task, const u8* bytes) {
  using Code = CodeOf<T>;
  using Codes = Vector<Code>;
  const Samples samples(task);
  for_predicted(
      task, [&](T * place, u32 index, int left, Vector<T> p, std::ptrdiff_t) __attribute__((always_inline)) {
        const Codes z = load_bytes<Code>(bytes + index), code = (z >> 1) ^ -(z & 1);
        store<T>(place, samples(p, code, left));
      });
}

template <class T>
void decode_class(const ClassTask<T>& task, const u8* bytes) {
  if (task.integers)
    decode_class_as<T, IntegerSamples<T>>(task, bytes);
  else
    decode_class_as<T, UniformSamples<T>>(task, bytes);
}

}  // namespace
}  // namespace stz
