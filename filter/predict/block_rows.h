// Rows of a block between its class arrays and the grid of its level.
#pragma once
#include "predict/block.h"

namespace stz {

// Samples from `from` to below `to` of the block along axis 0 or 1; axis -1: all.
struct Planes {
  int axis = -1;
  i64 from = 0, to = 0;
};

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
// The same for activities and special values.
void store_block_bytes(const BlockGeometry& g, const u8* activities, const GridPart<u8>& grid);

}  // namespace stz
