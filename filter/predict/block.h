// A self-contained block: one box of one level, as arrays of its parity classes with a halo, and what prediction may see there.
//
// Class 0 holds the reconstruction of the coarser level, real wherever the domain has samples. The other classes hold the block's own
// samples. Along an even axis a class may be asked for indexes outside: on the ghost plane, the first one above the block (`ghost_plane`),
// it sees the coarse grid interpolated by the mean of the 1-D cubics, everywhere else linear extrapolation along the axis. Nothing of other
// blocks of the level is ever used.
#pragma once
#include "grid/block_geometry.h"

namespace stz {

// Calls row(i, j, k) for every row of the index box [from, to) of a class.
template <class F>
inline void for_rows(const Index& from, const Index& to, F row) {
  for (i64 i = from[0]; i < to[0]; i++)
    for (i64 j = from[1]; j < to[1]; j++)
      for (i64 k = from[2]; k < to[2]; k++) row(i, j, k);
}

constexpr i64 rows_ahead = 8;  // of a grid that are prefetched

// Bytes have a layout of their own.
template <class S>
inline const ClassArrays& arrays_of(const BlockGeometry& g) {
  return sizeof(S) == 1 ? g.bytes : g.values;
}

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

// The same for activities and special values: a halo repeats the nearest sample of the block, class 0 comes from the coarser level's.
void load_coarse_bytes(const BlockGeometry& g, const GridPart<const u8>& coarse, u8* activities);
void fill_halo_of_bytes(const BlockGeometry& g, int cls, u8* activities);

// Weights of the sums of groups (faces at +-1, faces at +-3) that form the mean of the 1-D cubics over `odd` axes.
template <class R>
inline void cubic_weights(int odd, R* weights) {
  for (int k = 0; k < odd; k++) {
    weights[k] = R(9.0 / 16.0 / odd);
    weights[odd + k] = R(-1.0 / 16.0 / odd);
  }
}

}  // namespace stz
