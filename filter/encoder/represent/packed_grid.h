// The grid of numbers that a file held as integers of some 8 to 20 bits: multiples of a spacing above the lowest of them. The spacing may
// be just a few units in the last place. Encoder only.
#pragma once
#include <optional>
#include <vector>

#include "format/slice_grids.h"

namespace stz {

// A grid that reproduces nearly all values bit for bit. Nothing if there is none.
// The values are finite, and not all equal.
template <class T>
std::optional<SliceGrid> find_packed_grid(std::vector<T> values);

}  // namespace stz
