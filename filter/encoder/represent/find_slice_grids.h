// Detects arrays whose slices along an axis are on fixed-point grids of their own: records of packed files. Encoder only.
#pragma once
#include <optional>

#include "encoder/plan/array.h"

namespace stz {

struct SlicedNumbers {
  SliceGrids slices;
  Buffer<u8> elements;          // small integers as numbers, in the layout of the array
  std::vector<u64> exceptions;  // the elements that are on no grid, and no integers; they are kept
};

// Whether some numbers of some slices are on grids. `h`: layout, fill value and valid extent.
bool promises_slice_grids(const Array& a, const Header& h);

// Grids that reproduce nearly every finite element bit for bit. Nothing if there are none.
std::optional<SlicedNumbers> find_slice_grids(const Array& a, const Header& h);

}  // namespace stz
