// A block: one box of a level, as arrays of its parity classes with halos. It is closed: nothing of other blocks of its level is used.
//
// Class 0 is the reconstruction of the coarser level; it has real samples wherever the level does. The other classes have only the block's
// own samples. If prediction needs samples outside along an even axis, these are interpolated from the coarser level (mean of the 1-D
// cubics) on the ghost plane, the first plane above the block. Everywhere else they are extrapolated linearly along the axis.
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

constexpr i64 rows_ahead = 8;  // prefetch distance

// Bytes have their own layout.
template <class S>
inline const ClassArrays& arrays_of(const BlockGeometry& g) {
  return sizeof(S) == 1 ? g.bytes : g.values;
}

// Loads class 0 of the block and its halo from the coarser level. `coarse` must have all samples of the level that the halo reaches.
template <class S>
void load_coarse(const BlockGeometry& g, const GridPart<const S>& coarse, S* values);
// Fills ghost planes and halo of a class whose own samples are complete. `cubic`: the standard stencil laid out for the class.
template <class S>
void fill_halo_of_class(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values);
// The same in steps, for a walk along an axis. fill_halo_of_plane: one plane, once its own samples are complete. For classes that are even
// along the axis: fill_lower_halo once the first two planes are done, fill_upper_halo once all planes are.
template <class S>
void fill_halo_of_plane(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis, i64 plane);
template <class S>
void fill_lower_halo(const BlockGeometry& g, int cls, S* values, int axis);
template <class S>
void fill_upper_halo(const BlockGeometry& g, int cls, const LaidOut& cubic, S* values, int axis);

// The same for activities and special values. Halos repeat the nearest sample of the block; class 0 comes from the coarser level.
void load_coarse_bytes(const BlockGeometry& g, const GridPart<const u8>& coarse, u8* activities);
void fill_halo_of_bytes(const BlockGeometry& g, int cls, u8* activities);

// The weights of groups (faces at +-1, then at +-3) for the mean of the 1-D cubics over `odd` axes.
template <class R>
inline void cubic_weights(int odd, R* weights) {
  for (int k = 0; k < odd; k++) {
    weights[k] = R(9.0 / 16.0 / odd);
    weights[odd + k] = R(-1.0 / 16.0 / odd);
  }
}

}  // namespace stz
