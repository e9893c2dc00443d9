// Looks for data with few distinct values, whose ranks cost fewer bits than the values.
#pragma once
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/common.h"

namespace stz {

// The resolution of the other representations: they tell values apart whose distance is at least `step`, and `relative` times the
// magnitude.
struct Resolution {
  double step = 0, relative = 0;
};

struct FoundPalette {
  std::vector<u64> bits;  // of the values, by rising place (palette.h)
  Buffer<float> ranks;    // ranks of the samples; a masked sample has the rank of a sample before it
};

// Finds the palette of n samples of elements of `dtype`; `specials` may be null. Nothing if ranks would hardly save `least_saving` bytes.
// Ordinary data are recognised from some thousand samples.
template <class S>
std::optional<FoundPalette> find_palette(i32 dtype, const S* samples, const u8* specials, u64 n, const Resolution& others,
                                         u64 least_saving);

}  // namespace stz
