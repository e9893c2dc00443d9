// A self-contained block: one box of one level, as arrays of its parity classes with a halo, and what prediction may see there.
//
// Class arrays share one shape; an index counts half-steps along split axes and steps along the others, from the block's lower corner.
// Class 0 holds the reconstruction of the coarser level, real wherever the domain has samples. The other classes hold the block's own
// samples. Along an even axis a class may be asked for indexes outside: on the ghost plane, the first one above the block (`ghost_plane`),
// it sees the coarse grid interpolated by the mean of the 1-D cubics, everywhere else linear extrapolation along the axis. Nothing of other
// blocks of the level is ever used. Class arrays of bytes (activities for contexts, special values) are laid out alike with a narrower
// halo.
#pragma once
#include <vector>

#include "format/stencil.h"
#include "simd/kernels.h"

namespace stz {

// How class arrays lie in memory: one after the other, each with its halo.
struct ClassArrays {
  Index below, above;  // halo widths
  Index stride;        // elements between neighbours in a class array; the last is 1
  i64 origin, size;    // of index 0; elements of one class array
  i64 at(i64 i, i64 j, i64 k) const { return i * stride[0] + j * stride[1] + k * stride[2]; }
};

// Where the samples of a block are in its class arrays.
struct BlockGeometry {
  Box box;                             // samples of the level
  int split_mask, active_mask;         // axes that are split; axes with more than one sample on the level
  Index even, odd;                     // indexes of even and odd samples (along axes that are not split: all of them, none)
  std::array<bool, axes> ghost_plane;  // the domain continues above the block along this split axis
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
    return {{count(cls, 0), count(cls, 1), count(cls, 2), count(cls, 3)}, {a.stride[0], a.stride[1], a.stride[2]}};
  }
  // Do class arrays of both have the same layout, whatever the place of the blocks?
  bool same_layout(const BlockGeometry& g) const {
    return split_mask == g.split_mask && active_mask == g.active_mask && even == g.even && odd == g.odd && values.below == g.values.below;
  }
};

// `reach`: the stencil of the level with the widest reach.
BlockGeometry block_geometry(const Level& level, const Box& box, StencilId reach);

// A stencil laid out for a geometry: offsets from a sample of the class to its taps.
struct LaidOut {
  int groups = 0, odd = 0;
  std::vector<int> taps;
  std::vector<std::ptrdiff_t> offset;
  TapTable table(int first_groups) const { return {first_groups, taps.data(), offset.data()}; }
};
LaidOut lay_out(const BlockGeometry& g, const ClassArrays& arrays, int cls, const Stencil& stencil);
// One group of all taps at distance one (nearest faces and diagonals) or of the nearest faces only, for the median.
LaidOut lay_out_nearest(const BlockGeometry& g, const ClassArrays& arrays, int cls, bool faces_only);

// Calls row(i, j, k) for every row of the index box [from, to) of a class.
template <class F>
inline void for_rows(const Index& from, const Index& to, F row) {
  for (i64 i = from[0]; i < to[0]; i++)
    for (i64 j = from[1]; j < to[1]; j++)
      for (i64 k = from[2]; k < to[2]; k++) row(i, j, k);
}

// Samples from `from` to below `to` of the block along axis 0 or 1; axis -1: all.
struct Planes {
  int axis = -1;
  i64 from = 0, to = 0;
};

// Class 0 of the block with its halo, from the coarser level: of what the block's halo reaches the part must have all that the level has.
template <class S>
void load_coarse(const BlockGeometry& g, const GridPart<const S>& coarse, S* values);
// Ghost planes and halo of a class whose own samples are complete. `cubic`: the standard stencil laid out for the class.
template <class S>
void fill_halo_of_class(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values);
// The same in steps for a walk along an axis along which the class is even (fill_halo_of_plane: or odd): one plane when its own samples are
// complete; the halo below when that of the first two planes is filled, what is above when that of all is.
template <class S>
void fill_halo_of_plane(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis, i64 plane);
template <class S>
void fill_lower_halo(const BlockGeometry& g, int cls, S* values, int axis);
template <class S>
void fill_upper_halo(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis);
// The block's samples of the level, all classes, into a part of its grid that has the block. `streaming`: past the caches.
template <class S>
void store_block(const BlockGeometry& g, const S* values, const GridPart<S>& grid, bool streaming = false, const Planes& planes = {});
// The reverse, for all classes but 0.
template <class S>
void load_block(const BlockGeometry& g, const GridPart<const S>& grid, S* values, const Planes& planes = {});

// The same for activities and special values: a halo repeats the nearest sample of the block, class 0 comes from the coarser level's.
void load_coarse_bytes(const BlockGeometry& g, const GridPart<const u8>& coarse, u8* activities);
void fill_halo_of_bytes(const BlockGeometry& g, int cls, u8* activities);
void store_block_bytes(const BlockGeometry& g, const u8* activities, const GridPart<u8>& grid);

// Weights of the sums of groups (faces at +-1, faces at +-3) that form the mean of the 1-D cubics over `odd` axes.
template <class R>
inline void cubic_weights(int odd, R* weights) {
  for (int k = 0; k < odd; k++) {
    weights[k] = R(9.0 / 16.0 / odd);
    weights[odd + k] = R(-1.0 / 16.0 / odd);
  }
}

}  // namespace stz
