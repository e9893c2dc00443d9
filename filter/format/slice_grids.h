// A grid for each slice: fixed-point numbers whose spacing and origin differ from slice to slice along an axis of the array, as in packed
// files with a record for each level. Samples stand for small integers; what they give is changed into the numbers of the slices after
// everything else. Record 17 of a header with fixed-point numbers. Byte by byte: docs/format.md, "Grids of slices".
#pragma once
#include <vector>

#include "base/bytes.h"

namespace stz {

struct Header;

// The number of an element e of a slice: origin + (e + first) * delta, if e is an integer; else e.
struct SliceGrid {
  double origin = 0, delta = 1;
  i64 first = 0;
};

struct SliceGrids {
  int axis = 0;                  // of the array
  std::vector<SliceGrid> grids;  // one for each slice; empty: there are none
  bool any() const { return !grids.empty(); }
};

constexpr size_t most_slices = 1024;

Bytes write_slice_grids(const SliceGrids& s);
// `h`: its layout is known.
void read_slice_grids(ByteReader& payload, const Header& h, SliceGrids& s);
// Fails unless the header's other fields allow grids of slices.
void require_slice_grids(const Header& h);

// The bits of the number of an element with these bits.
template <class T>
u64 number_in_slice(const SliceGrid& grid, u64 bits);

// Changes decoded elements start[r] + i * step[r], i < count[r], along every axis r of the array, into their numbers. Null `step`: 1
// everywhere. Special values stay what they are. `elements`: count[0] * count[1] * ... contiguous ones.
void apply_slice_grids(const Header& h, const u64* start, const u64* count, const u64* step, u8* elements, int threads);

}  // namespace stz
