// Walks through a block plane by plane, all parity classes at once, so that what is predicted from is still in the caches.
//
// Classes that are even along the axis of the walk run ahead by the reach of the stencils; odd ones follow. The samples are the same as
// with one class after the other, because a class only uses complete samples of others.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// The axis to walk along: the first one with more than one sample, if it is split and planes have at least two axes; else -1.
inline int sweep_axis(const BlockGeometry& g) {
  int rank = 0, first = -1;
  for (int a = 0; a < axes; a++) {
    if (g.box.size[size_t(a)] < 2) continue;
    if (first < 0) first = a;
    rank++;
  }
  return rank >= 3 && first <= 1 && g.split_mask >> first & 1 && g.even[size_t(first)] >= 8 ? first : -1;
}

// How many planes the classes with `odd` odd axes that are even along the axis run ahead of those that are odd along it.
inline i64 sweep_lead(const BlockGeometry& g, int axis, int odd) {
  int highest = 0;
  for (int c = 0; c < g.classes.count; c++)
    if (!(g.classes.mask[c] >> axis & 1)) highest = std::max(highest, __builtin_popcount(unsigned(g.classes.mask[c])));
  return g.values.above[size_t(axis)] + 1 + 2 * (highest - odd);
}

// Calls code(cls, plane index) for every wanted class (bit c: the c-th one), which must complete the samples of that plane, and done(j)
// once the samples 2 j and 2 j + 1 along the axis are complete. `unused`: the class that nothing depends on, or -1. Fills the halo along
// all axes.
template <class S, class Code, class Done>
void sweep(BlockWork<S>& work, const ClassParameters* p, int axis, u32 wanted, int unused, Code code, Done done) {
  const BlockGeometry& g = work.geometry;
  const size_t a = size_t(axis);
  const i64 even = g.even[a], odd = g.odd[a];
  S* values = work.values.data();
  auto plane = [&](int cls, i64 j) {
    code(cls, j);
    if (work.mask_or_null(cls) && cls != unused) {
      Index from{}, to = g.counts(cls);
      from[a] = j;
      to[a] = j + 1;
      fill_masked_rows(g, cls, work.specials.data(), from, to, values);
    }
    fill_halo_of_plane(g, cls, work.plan(cls, p[cls]).cubic, values, axis, j);
  };
  i64 finished[16] = {}, leads[16];
  for (int c = 0; c < g.classes.count; c++) leads[c] = sweep_lead(g, axis, __builtin_popcount(unsigned(g.classes.mask[c])));
  for (i64 j = 0; j < even; j++) {
    for (int c = 0; c < g.classes.count; c++) {
      const int cls = g.classes.mask[c];
      if (cls >> axis & 1 || !(wanted >> c & 1)) continue;
      for (i64& k = finished[cls]; k < std::min(even, j + leads[c]); k++) {
        plane(cls, k);
        if (k == 1) fill_lower_halo(g, cls, values, axis);
        if (k == even - 1) fill_upper_halo(g, cls, work.plan(cls, p[cls]).cubic, values, axis);
      }
    }
    for (int c = 0; c < g.classes.count && j < odd; c++)
      if (g.classes.mask[c] >> axis & 1 && wanted >> c & 1) plane(g.classes.mask[c], j);
    done(j);
  }
}

}  // namespace stz
