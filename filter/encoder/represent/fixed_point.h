// Detects numbers on a fixed-point grid origin + k * delta: packed data, counts, images. Encoder only.
#pragma once
#include <optional>

#include "format/frame.h"

namespace stz {

struct FixedPointGrid {
  double origin, delta;
  i64 largest;  // |k|
};

// A fixed-point grid that reproduces every valid element bit for bit as origin + k * delta (in double, rounded to S). `specials`: the
// special values of the n samples, or null.
template <class S>
std::optional<FixedPointGrid> find_fixed_point_grid(const Header& h, const S* samples, const u8* specials, u64 n);

}  // namespace stz
