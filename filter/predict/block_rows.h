// Copies rows of a block between its class arrays and the grid of its level.
#pragma once
#include "predict/block.h"
#include "simd/kernels.h"

namespace stz {

// The samples [from, to) of the block along axis 0 or 1; axis -1: the whole block.
struct Planes {
  int axis = -1;
  i64 from = 0, to = 0;
};

// Cache lines that a row of the block shares with the adjacent rows. Written past the caches in parts, such a line would have to be
// fetched. So the row that is stored first leaves its samples here, and the other one writes the whole line. There is a line for every row
// (raster order), with the samples of even index first.
template <class S>
struct LineEnds {
  static constexpr i64 samples = 64 / i64(sizeof(S));
  S *left = nullptr, *right = nullptr;           // at the start and at the end of rows; null: not shared
  bool left_there = false, right_there = false;  // the adjacent row is stored first
  // the adjacent row is the previous or next one along axis 2; the first or last row of a plane has none
  bool left_wraps = false, right_wraps = false;
};
// Stores the block's samples of all classes into a part of the level's grid. `streaming`: past the caches. With `ends`, cache lines must
// begin at samples of even index in the rows, and rows must have an even number of samples and at least two lines. `limits`: samples
// beyond them are brought to them in the grid; may be null.
template <class S>
void store_block(const BlockGeometry& g, const S* values, const GridPart<S>& grid, bool streaming = false, const Planes& planes = {},
                 const LineEnds<S>& ends = {}, const Limits<S>* limits = nullptr);
// The same into an array of only these planes, in raster order.
template <class S>
void gather_planes(const BlockGeometry& g, const S* values, const Planes& planes, S* out);
// The inverse of store_block, for all classes except 0.
template <class S>
void load_block(const BlockGeometry& g, const GridPart<const S>& grid, S* values, const Planes& planes = {});
// The same for activities and special values.
void store_block_bytes(const BlockGeometry& g, const u8* activities, const GridPart<u8>& grid);

}  // namespace stz
