// Finds data with few distinct values. Coding their ranks then costs fewer bits than coding the values.
#pragma once
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/common.h"

namespace stz {

// The resolution of the other representations: they tell values apart whose distance is at least `step` and at least `relative` times the
// magnitude.
struct Resolution {
  double step = 0, relative = 0;
};

struct FoundPalette {
  std::vector<u64> bits;  // of the values, by rising place (palette.h)
  Buffer<float> ranks;    // ranks of the samples; a masked sample has the rank of a sample before it
};

// Finds the palette of n samples of type `dtype`. `specials` may be null. Returns nothing if ranks would hardly save `least_saving` bytes.
// A few thousand samples are enough to recognize data with many values.
template <class S>
std::optional<FoundPalette> find_palette(i32 dtype, const S* samples, const u8* specials, u64 n, const Resolution& others,
                                         u64 least_saving);

}  // namespace stz
