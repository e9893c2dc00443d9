// Detects numbers on a fixed-point grid origin + k * delta: packed data, counts, images. Encoder only.
#pragma once
#include <optional>
#include <vector>

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

// The spacing of which all gaps between the values are likely multiples, to within the rounding of S; 0 if there is none of some 32 units
// in the last place. The values get sorted.
template <class S>
double likely_spacing(std::vector<double>& values);

}  // namespace stz
