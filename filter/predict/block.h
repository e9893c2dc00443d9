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
// Lines of 64 bytes in memory that a row of the block shares with the rows before and behind it. Written past the caches in parts they
// would have to be fetched; so the row that is stored first leaves its samples here, and the other one writes the line. A line is there for
// every row (raster order), the samples of even index first.
template <class S>
struct LineEnds {
  static constexpr i64 samples = 64 / i64(sizeof(S));
  S *left = nullptr, *right = nullptr;           // at the start and at the end of rows; null: none is shared
  bool left_there = false, right_there = false;  // the other row is stored before
  bool left_wraps = false, right_wraps = false;  // it is the one before or behind along axis 2, which the ends of a plane do not have
};
// The block's samples of the level, all classes, into a part of its grid that has the block. `streaming`: past the caches. With `ends`
// lines of the grid begin at samples of even index in the rows, which have an even number of samples, two lines at least.
template <class S>
void store_block(const BlockGeometry& g, const S* values, const GridPart<S>& grid, bool streaming = false, const Planes& planes = {},
                 const LineEnds<S>& ends = {});
// The same to an array of these planes alone, raster order.
template <class S>
void gather_planes(const BlockGeometry& g, const S* values, const Planes& planes, S* out);
// The reverse of store_block, for all classes but 0.
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
