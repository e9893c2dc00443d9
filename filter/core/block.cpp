#include "block.h"

#include <algorithm>

#include "quantize.h"

namespace stz {

BlockGeometry block_geometry(const Level& level, const Box& box, StencilId reach) {
  BlockGeometry g;
  g.box = box;
  g.split_mask = level.split_mask();
  g.active_mask = 0;
  g.classes = classes_of(g.split_mask);
  Index extent;
  for (int a = 0; a < axes; a++) {
    bool split = level.split[a];
    if (level.n[a] > 1) g.active_mask |= 1 << a;
    g.even[a] = split ? (box.size[a] + 1) / 2 : box.size[a];
    g.odd[a] = split ? box.size[a] / 2 : 0;
    g.plane[a] = split && box.low[a] + box.size[a] < level.n[a];
    g.below[a] = level.n[a] > 1 ? reach_below(reach) : 0;
    g.above[a] = level.n[a] > 1 ? reach_above(reach) : 0;
    extent[a] = g.below[a] + g.even[a] + g.above[a];
  }
  extent[3] = (extent[3] + 15) / 16 * 16;
  g.stride = {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
  g.origin = g.below[0] * g.stride[0] + g.below[1] * g.stride[1] + g.below[2] * g.stride[2] + g.below[3];
  g.array_size = extent[0] * g.stride[0] + row_slack;
  for (int& s : g.slot) s = 0;
  for (int c = 0; c < g.classes.count; c++) g.slot[g.classes.mask[c]] = c + 1;
  return g;
}

namespace {

// Offset from a sample of class `cls` to its neighbour at the distances of `tap`.
std::ptrdiff_t tap_offset(const BlockGeometry& g, int cls, const Tap& tap) {
  int source = cls;
  std::ptrdiff_t offset = 0;
  for (int a = 0; a < axes; a++) {
    int d = tap[size_t(a)];
    if (d & 1) {
      source ^= 1 << a;
      offset += (d + 1) / 2 * g.stride[size_t(a)];  // odd sample 2 j + 1 to even sample 2 (j + (d + 1) / 2)
    } else
      offset += d / 2 * g.stride[size_t(a)];
  }
  return offset + g.array(source) - g.array(cls);
}

void add_taps(const BlockGeometry& g, int cls, const std::vector<Tap>& taps, LaidOut& out) {
  for (const Tap& t : taps) out.offset.push_back(tap_offset(g, cls, t));
}

// Linear extrapolation of lines of `n` elements: `from` is the last real line, `inner` the one before it.
template <class S>
void extrapolate(S* to, const S* from, const S* inner, int distance, i64 n) {
  for (i64 x = 0; x < n; x++) {
    if constexpr (S(0.5) == S(0))
      to[x] = S(u64(from[x]) + (u64(from[x]) - u64(inner[x])) * u64(distance));
    else
      to[x] = from[x] + (from[x] - inner[x]) * S(distance);
  }
}
void extrapolate(u8* to, const u8* from, const u8*, int, i64 n) { memcpy(to, from, size_t(n)); }

// Extends indexes [low, high) of an axis to [-below, high limit) for every line of the index box [from, to) of the other axes, in lines
// along the last axis (or element by element along it).
template <class S>
void extend_axis(const BlockGeometry& g, S* array, int a, i64 low, i64 high, i64 from_index, i64 to_index, Index from, Index to) {
  const i64 step = g.stride[size_t(a)];
  const i64 inward = high - low > 1 ? step : 0;
  auto line = [&](S* base, i64 n) {  // base: index 0 along the axis
    for (i64 i = low - 1; i >= from_index; i--)
      extrapolate(base + i * step, base + low * step, base + low * step + inward, int(low - i), n);
    for (i64 i = high; i < to_index; i++)
      extrapolate(base + i * step, base + (high - 1) * step, base + (high - 1) * step - inward, int(i - high + 1), n);
  };
  if (a == 3) {
    for_rows(from, to, [&](i64 i, i64 j, i64 k) { line(array + g.at(i, j, k), 1); });
    return;
  }
  from[size_t(a)] = 0;
  to[size_t(a)] = 1;
  for_rows(from, to, [&](i64 i, i64 j, i64 k) { line(array + g.at(i, j, k) + from[3], to[3] - from[3]); });
}

// Fills the halo of one class array: along each axis (the last first) the indexes outside [low, high).
template <class S>
void fill_halo(const BlockGeometry& g, S* array, const Index& low, const Index& high, int skip_axes) {
  Index from = low, to = high;
  for (int a = axes - 1; a >= 0; a--) {
    size_t s = size_t(a);
    if (skip_axes >> a & 1 || !(g.active_mask >> a & 1)) continue;
    extend_axis(g, array, a, low[s], high[s], -g.below[s], g.even[s] + g.above[s], from, to);
    from[s] = -g.below[s];
    to[s] = g.even[s] + g.above[s];
  }
}

// Copies of grid rows into class 0, everything of the index box that the domain has; returns the index range that is real.
template <class S>
void copy_coarse(const BlockGeometry& g, const S* coarse, const Index& n, S* values, Index& low, Index& high, bool inside_only) {
  Index start;  // grid coordinate of index 0
  for (size_t a = 0; a < axes; a++) {
    start[a] = g.split_mask >> a & 1 ? g.box.low[a] / 2 : g.box.low[a];
    low[a] = inside_only ? 0 : std::max<i64>(-g.below[a], -start[a]);
    high[a] = inside_only ? g.even[a] : std::min<i64>(g.even[a] + g.above[a], n[a] - start[a]);
  }
  S* base = values + g.array(0);
  for_rows(low, high, [&](i64 i, i64 j, i64 k) {
    const S* row = coarse + (((start[0] + i) * n[1] + start[1] + j) * n[2] + start[2] + k) * n[3] + start[3];
    memcpy(base + g.at(i, j, k) + low[3], row + low[3], size_t(high[3] - low[3]) * sizeof(S));
  });
}

template <class S>
void store_samples(const BlockGeometry& g, const S* values, const Index& n, S* grid) {
  const bool split_x = g.split_mask >> 3 & 1;
  for (i64 i = 0; i < g.box.size[0]; i++)
    for (i64 j = 0; j < g.box.size[1]; j++)
      for (i64 k = 0; k < g.box.size[2]; k++) {
        const i64 c[3] = {i, j, k};
        int cls = 0;
        i64 offset = 0;
        for (int a = 0; a < 3; a++) {
          bool split = g.split_mask >> a & 1;
          if (split && (c[a] & 1)) cls |= 1 << a;
          offset += (split ? c[a] >> 1 : c[a]) * g.stride[size_t(a)];
        }
        S* out = grid + (((g.box.low[0] + i) * n[1] + g.box.low[1] + j) * n[2] + g.box.low[2] + k) * n[3] + g.box.low[3];
        const S* even = values + g.array(cls) + offset;
        if (!split_x)
          memcpy(out, even, size_t(g.box.size[3]) * sizeof(S));
        else if constexpr (sizeof(S) == 1) {
          const S* odd = values + g.array(cls | 8) + offset;
          for (i64 x = 0; x < g.box.size[3]; x++) out[x] = x & 1 ? odd[x >> 1] : even[x >> 1];
        } else
          row_kernels<S>().interleave(even, values + g.array(cls | 8) + offset, int(g.box.size[3]), out);
      }
}

}  // namespace

LaidOut lay_out(const BlockGeometry& g, int cls, const Stencil& stencil) {
  LaidOut out;
  out.groups = int(stencil.groups.size());
  out.odd = stencil.odd;
  for (const Group& group : stencil.groups) {
    out.taps.push_back(int(group.taps.size()));
    add_taps(g, cls, group.taps, out);
  }
  return out;
}

LaidOut lay_out_nearest(const BlockGeometry& g, int cls, bool faces_only) {
  Stencil stencil = make_stencil(stencil_standard, cls, g.active_mask);
  LaidOut out;
  out.groups = 1;
  out.odd = stencil.odd;
  for (size_t k = 0; k < stencil.groups.size(); k++) {
    bool face = k < size_t(stencil.odd), farther = !face && k < size_t(3 * stencil.odd);
    if (face || (!farther && !faces_only)) add_taps(g, cls, stencil.groups[k].taps, out);
  }
  out.taps.push_back(int(out.offset.size()));
  return out;
}

template <class S>
void load_coarse(const BlockGeometry& g, const S* coarse, const Index& n, S* values) {
  Index low, high;
  copy_coarse(g, coarse, n, values, low, high, false);
  fill_halo(g, values + g.array(0), low, high, 0);
}

template <class S>
void close_class(const BlockGeometry& g, int cls, S* values) {
  using R = RealOf<S>;
  Index from{}, to = g.counts(cls);
  // planes above the block: the mean of the 1-D cubics over the odd axes, from classes with one odd axis less on the same plane
  int planes = 0;
  for (int a = 0; a < axes; a++) planes |= int(g.plane[size_t(a)] && !(cls >> a & 1)) << a;
  if (planes) {
    LaidOut cubic = lay_out(g, cls, make_stencil(stencil_standard, cls, g.active_mask));
    TapTable taps = cubic.table(2 * cubic.odd);
    R weights[2 * axes];
    cubic_weights(cubic.odd, weights);
    std::vector<R> p(size_t(to[3] + 1 + row_slack));
    for (int a = 0; a < axes; a++) {
      if (!(planes >> a & 1)) continue;
      Index low = from, high = to;
      low[size_t(a)] = to[size_t(a)];
      high[size_t(a)] = to[size_t(a)] + 1;
      for_rows(low, high, [&](i64 i, i64 j, i64 k) {
        S* row = values + g.array(cls) + g.at(i, j, k) + low[3];
        int n = int(high[3] - low[3]);
        row_kernels<S>().predict(row, taps, weights, n, p.data());
        for (int x = 0; x < n; x++) row[x] = sample_from_real<S>(p[size_t(x)]);
      });
      to[size_t(a)]++;  // later planes cover the edges that they share with this one
    }
  }
  fill_halo(g, values + g.array(cls), from, to, cls);
}

template <class S>
void store_block(const BlockGeometry& g, const S* values, const Index& n, S* grid) {
  store_samples(g, values, n, grid);
}

void load_coarse_magnitudes(const BlockGeometry& g, const u8* coarse, const Index& n, u8* magnitudes) {
  Index low, high;
  copy_coarse(g, coarse, n, magnitudes, low, high, true);
  fill_halo(g, magnitudes + g.array(0), low, high, 0);
}

void close_magnitudes(const BlockGeometry& g, int cls, u8* magnitudes) {
  fill_halo(g, magnitudes + g.array(cls), Index{}, g.counts(cls), cls);
}

void store_magnitudes(const BlockGeometry& g, const u8* magnitudes, const Index& n, u8* grid) { store_samples(g, magnitudes, n, grid); }

template void load_coarse(const BlockGeometry&, const float*, const Index&, float*);
template void load_coarse(const BlockGeometry&, const double*, const Index&, double*);
template void load_coarse(const BlockGeometry&, const i64*, const Index&, i64*);
template void close_class(const BlockGeometry&, int, float*);
template void close_class(const BlockGeometry&, int, double*);
template void close_class(const BlockGeometry&, int, i64*);
template void store_block(const BlockGeometry&, const float*, const Index&, float*);
template void store_block(const BlockGeometry&, const double*, const Index&, double*);
template void store_block(const BlockGeometry&, const i64*, const Index&, i64*);

}  // namespace stz
