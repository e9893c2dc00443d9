#include "predict/block.h"

#include <algorithm>

#include "base/buffer.h"
#include "base/stages.h"
#include "coding/quantize.h"

namespace stz {

namespace {

// Linear extrapolation from the last real sample `from` and the one before it, `inner`. Bytes repeat the last one.
template <class S>
inline S extrapolated(S from, S inner, int distance) {
  if constexpr (sizeof(S) == 1)
    return from;
  else if constexpr (!std::is_floating_point_v<S>)
    return S(u64(from) + (u64(from) - u64(inner)) * u64(distance));
  else
    return from + (from - inner) * S(distance);
}
template <class S>
void extrapolate(S* to, const S* from, const S* inner, int distance, i64 n) {
  for (i64 x = 0; x < n; x++) to[x] = extrapolated(from[x], inner[x], distance);
}

// Calls f with `n` as a constant for the usual halo widths, so that loops over it are unrolled; otherwise with 0.
template <class F>
void with_width(int n, F f) {
  switch (n) {
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 2:
      return f(std::integral_constant<int, 2>{});
    case 3:
      return f(std::integral_constant<int, 3>{});
    default:
      return f(std::integral_constant<int, 0>{});
  }
}

// Extends `rows` rows of n samples by `below` samples before and `above` samples behind each.
template <class S>
void extend_rows(S* first, i64 stride, i64 rows, i64 n, int below, int above) {
  const i64 inward = n > 1 ? 1 : 0;
  with_width(below, [&](auto fixed_below) {
    with_width(above, [&](auto fixed_above) {
      const int before = fixed_below ? fixed_below : below, behind = fixed_above ? fixed_above : above;
      S* row = first;
      for (i64 k = 0; k < rows; k++, row += stride) {
        S *last = row + (n - 1), start = *row, start_inner = row[inward], end = *last, end_inner = last[-inward];
        for (int d = 1; d <= before; d++) row[-d] = extrapolated(start, start_inner, d);
        for (int d = 1; d <= behind; d++) last[d] = extrapolated(end, end_inner, d);
      }
    });
  });
}

// Extends indexes [low, high) along an axis to [from_index, to_index), for every line of the index box [from, to) of the other axes. Works
// on lines along the last axis (or element by element along it).
template <class S>
void extend_axis(const ClassArrays& g, S* array, int a, i64 low, i64 high, i64 from_index, i64 to_index, Index from, Index to) {
  const i64 step = g.stride[size_t(a)];
  const i64 inward = high - low > 1 ? step : 0;
  auto line = [&](S* base, i64 n) {  // base: index 0 along the axis
    for (i64 i = low - 1; i >= from_index; i--)
      extrapolate(base + i * step, base + low * step, base + low * step + inward, int(low - i), n);
    for (i64 i = high; i < to_index; i++)
      extrapolate(base + i * step, base + (high - 1) * step, base + (high - 1) * step - inward, int(i - high + 1), n);
  };
  if (a == 3) {
    const int below = int(low - from_index), above = int(to_index - high);
    for_rows({from[0], from[1], 0, 0}, {to[0], to[1], 1, 1}, [&](i64 i, i64 j, i64) {
      extend_rows(array + g.at(i, j, from[2]) + low, g.stride[2], to[2] - from[2], high - low, below, above);
    });
    return;
  }
  from[size_t(a)] = 0;
  to[size_t(a)] = 1;
  for_rows(from, to, [&](i64 i, i64 j, i64 k) { line(array + g.at(i, j, k) + from[3], to[3] - from[3]); });
}

// Fills the halo of one class array: the indexes outside [low, high) along each axis, the last axis first.
template <class S>
void fill_halo(const BlockGeometry& g, S* array, const Index& low, const Index& high, int skip_axes) {
  const ClassArrays& arrays = arrays_of<S>(g);
  Index from = low, to = high;
  for (int a = axes - 1; a >= 0; a--) {
    size_t s = size_t(a);
    if (skip_axes >> a & 1 || !(g.active_mask >> a & 1)) continue;
    extend_axis(arrays, array, a, low[s], high[s], -arrays.below[s], g.even[s] + arrays.above[s], from, to);
    from[s] = -arrays.below[s];
    to[s] = g.even[s] + arrays.above[s];
  }
}

// Copies rows of the coarser grid into class 0, as far as the part has them. Sets the index range that was copied.
template <class S>
void copy_coarse(const BlockGeometry& g, const GridPart<const S>& coarse, S* values, Index& low, Index& high, bool inside_only) {
  const ClassArrays& arrays = arrays_of<S>(g);
  Index start;  // grid coordinate of index 0
  for (size_t a = 0; a < axes; a++) {
    start[a] = g.split_mask >> a & 1 ? g.box.low[a] / 2 : g.box.low[a];
    low[a] = inside_only ? 0 : std::max<i64>(-arrays.below[a], coarse.box.low[a] - start[a]);
    high[a] = inside_only ? g.even[a] : std::min<i64>(g.even[a] + arrays.above[a], coarse.box.low[a] + coarse.box.size[a] - start[a]);
  }
  S* base = values + g.start(arrays, 0);
  for_rows(low, high, [&](i64 i, i64 j, i64 k) {
    const S* row = coarse.at(start[0] + i, start[1] + j, start[2] + k, start[3]);
    const S* ahead = row + rows_ahead * coarse.box.size[3];
    for (i64 x = low[3]; x < high[3]; x += i64(64 / sizeof(S))) __builtin_prefetch(ahead + x);
    memcpy(base + arrays.at(i, j, k) + low[3], row + low[3], size_t(high[3] - low[3]) * sizeof(S));
  });
}

}  // namespace

template <class S>
void load_coarse(const BlockGeometry& g, const GridPart<const S>& coarse, S* values) {
  STZ_STAGE(load);
  Index low, high;
  copy_coarse(g, coarse, values, low, high, false);
  fill_halo(g, values + g.start(g.values, 0), low, high, 0);
}

namespace {

// Fills samples [low, high) of a class on ghost planes with the mean of the 1-D cubics over the odd axes, from classes with one odd axis
// less on the same plane.
template <class S>
void fill_ghost_plane(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, const Index& low, const Index& high) {
  using R = RealOf<S>;
  const TapTable taps = cubic.table(2 * cubic.odd);
  R weights[2 * axes];
  cubic_weights(cubic.odd, weights);
  const int n = int(high[3] - low[3]);
  Buffer<R> p(size_t(n + row_slack));
  for_rows(low, high, [&](i64 i, i64 j, i64 k) {
    S* row = values + g.start(g.values, cls) + g.values.at(i, j, k) + low[3];
    if (n > 1) {
      row_kernels<S>().predict(row, taps, weights, n, p.data());
      for (int x = 0; x < n; x++) row[x] = sample_from_real<S>(p[size_t(x)]);
      return;
    }
    // An end of the last axis: the same sum for a single sample, without a vector.
    R total = 0;
    const std::ptrdiff_t* o = taps.offset;
    for (int group = 0; group < taps.groups; group++) {
      R sum = R(row[*o++]);
      for (int t = 1; t < taps.taps[group]; t++) sum += R(row[*o++]);
      sum *= weights[group];
      total = group ? total + sum : sum;
    }
    *row = sample_from_real<S>(total);
  });
}

// Fills ghost planes, then the halo, along the axes in `along` (bit a: axis a), around samples [from, to) of a class.
template <class S>
void fill_halo_along(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int along, Index from, Index to) {
  for (size_t a = 0; a < axes; a++) {
    if (!(along >> a & 1) || !g.ghost_plane[a] || cls >> a & 1) continue;
    Index low = from, high = to;
    low[a] = to[a];
    high[a] = to[a] + 1;
    fill_ghost_plane(g, cls, cubic, values, low, high);
    to[a]++;  // later planes include the edges that they share with this one
  }
  fill_halo(g, values + g.start(g.values, cls), from, to, cls | (0xf & ~along));
}

}  // namespace

template <class S>
void fill_halo_of_class(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values) {
  STZ_STAGE(halo);
  fill_halo_along(g, cls, cubic, values, 0xf, Index{}, g.counts(cls));
}

template <class S>
void fill_halo_of_plane(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis, i64 plane) {
  STZ_STAGE(halo);
  Index from{}, to = g.counts(cls);
  from[size_t(axis)] = plane;
  to[size_t(axis)] = plane + 1;
  fill_halo_along(g, cls, cubic, values, 0xf & ~(1 << axis), from, to);
}

namespace {

// The box of a class including its halo along all axes but `axis`.
void box_with_halo(const BlockGeometry& g, int cls, int axis, Index& from, Index& to) {
  from = Index{};
  to = g.counts(cls);
  for (size_t a = 0; a < axes; a++)
    if (int(a) != axis && !(cls >> a & 1) && g.active_mask >> a & 1) {
      from[a] = -g.values.below[a];
      to[a] = g.even[a] + g.values.above[a];
    }
}

}  // namespace

template <class S>
void fill_lower_halo(const BlockGeometry& g, int cls, S* values, int axis) {
  STZ_STAGE(halo);
  Index from, to;
  box_with_halo(g, cls, axis, from, to);
  const size_t a = size_t(axis);
  // The lower halo only needs the first two samples along the axis.
  extend_axis(g.values, values + g.start(g.values, cls), axis, 0, g.even[a], -g.values.below[a], g.even[a], from, to);
}

template <class S>
void fill_upper_halo(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis) {
  STZ_STAGE(halo);
  const size_t a = size_t(axis);
  i64 end = g.even[a];
  if (g.ghost_plane[a]) {
    Index low{}, high = g.counts(cls);
    low[a] = end;
    high[a] = end + 1;
    fill_ghost_plane(g, cls, cubic, values, low, high);
    fill_halo_along(g, cls, cubic, values, 0xf & ~(1 << axis), low, high);
    end++;
  }
  Index from, to;
  box_with_halo(g, cls, axis, from, to);
  extend_axis(g.values, values + g.start(g.values, cls), axis, 0, end, 0, g.even[a] + g.values.above[a], from, to);
}

void load_coarse_bytes(const BlockGeometry& g, const GridPart<const u8>& coarse, u8* activities) {
  STZ_STAGE(load);
  Index low, high;
  copy_coarse(g, coarse, activities, low, high, true);
  fill_halo(g, activities + g.start(g.bytes, 0), low, high, 0);
}

void fill_halo_of_bytes(const BlockGeometry& g, int cls, u8* activities) {
  fill_halo(g, activities + g.start(g.bytes, cls), Index{}, g.counts(cls), cls);
}

template void load_coarse(const BlockGeometry&, const GridPart<const float>&, float*);
template void load_coarse(const BlockGeometry&, const GridPart<const double>&, double*);
template void load_coarse(const BlockGeometry&, const GridPart<const i64>&, i64*);
template void fill_halo_of_class(const BlockGeometry&, int, const LaidOut&, float*);
template void fill_halo_of_plane(const BlockGeometry&, int, const LaidOut&, float*, int, i64);
template void fill_lower_halo(const BlockGeometry&, int, float*, int);
template void fill_upper_halo(const BlockGeometry&, int, const LaidOut&, float*, int);
template void fill_halo_of_class(const BlockGeometry&, int, const LaidOut&, double*);
template void fill_halo_of_plane(const BlockGeometry&, int, const LaidOut&, double*, int, i64);
template void fill_lower_halo(const BlockGeometry&, int, double*, int);
template void fill_upper_halo(const BlockGeometry&, int, const LaidOut&, double*, int);
template void fill_halo_of_class(const BlockGeometry&, int, const LaidOut&, i64*);
template void fill_halo_of_plane(const BlockGeometry&, int, const LaidOut&, i64*, int, i64);
template void fill_lower_halo(const BlockGeometry&, int, i64*, int);
template void fill_upper_halo(const BlockGeometry&, int, const LaidOut&, i64*, int);

}  // namespace stz
