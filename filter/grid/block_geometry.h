// Where a block's samples lie in memory, and stencils laid out for them: sizes and offsets only.
//
// All class arrays have one shape. An index counts from the block's lower corner: half-steps along split axes, steps along others. Class
// arrays of bytes (activities for contexts, special values) have the same layout with a narrower halo.
#pragma once
#include <vector>

#include "grid/stencil.h"
#include "simd/kernels.h"

namespace stz {

// The memory layout of class arrays: one after the other, each with its halo.
struct ClassArrays {
  Index below, above;  // halo widths
  Index stride;        // elements between neighbours in a class array; the last is 1
  i64 origin, size;    // offset of index 0; elements of one class array
  i64 at(i64 i, i64 j, i64 k) const { return i * stride[0] + j * stride[1] + k * stride[2]; }
};

// The places of a block's samples in its class arrays.
struct BlockGeometry {
  Box box;                      // in samples of the level
  int split_mask, active_mask;  // bit a: axis a is split; axis a has more than one sample
  // numbers of even and odd samples along each axis; along axes that are not split all samples count as even
  Index even, odd;
  std::array<bool, axes> ghost_plane;  // the level continues above the block along this split axis
  ClassArrays values, bytes;
  ParityClasses classes;
  int slot[16];  // class -> array number

  i64 count(int cls, int a) const { return cls >> a & 1 ? odd[a] : even[a]; }
  Index counts(int cls) const { return {count(cls, 0), count(cls, 1), count(cls, 2), count(cls, 3)}; }
  u64 samples(int cls) const {
    Index c = counts(cls);
    return u64(c[0]) * u64(c[1]) * u64(c[2]) * u64(c[3]);
  }
  i64 start(const ClassArrays& a, int cls) const { return i64(slot[cls]) * a.size + a.origin; }  // offset of index 0 of a class
  i64 total(const ClassArrays& a) const { return (classes.count + 1) * a.size + row_slack; }
  ClassRows rows(const ClassArrays& a, int cls) const {
    return {{count(cls, 0), count(cls, 1), count(cls, 2), count(cls, 3)},
            {std::ptrdiff_t(a.stride[0]), std::ptrdiff_t(a.stride[1]), std::ptrdiff_t(a.stride[2])}};
  }
  // Whether the class arrays of both blocks have the same layout; the blocks may be at different places.
  bool same_layout(const BlockGeometry& g) const {
    return split_mask == g.split_mask && active_mask == g.active_mask && even == g.even && odd == g.odd && values.below == g.values.below;
  }
};

// `reach`: the stencil with the widest reach on the level.
BlockGeometry block_geometry(const Level& level, const Box& box, StencilId reach);

// A stencil for a memory layout: offsets from a sample of the class to its taps.
struct LaidOut {
  int groups = 0, odd = 0;
  std::vector<int> taps;
  std::vector<std::ptrdiff_t> offset;
  TapTable table(int first_groups) const { return {first_groups, taps.data(), offset.data()}; }
};
LaidOut lay_out(const BlockGeometry& g, const ClassArrays& arrays, int cls, const Stencil& stencil);
// For the median: one group with all taps at distance one (nearest faces and diagonals), or with the nearest faces only.
LaidOut lay_out_nearest(const BlockGeometry& g, const ClassArrays& arrays, int cls, bool faces_only);

}  // namespace stz
