// Maps that may bring boxes of an array onto others, found from places with similar surroundings. Encoder only.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

constexpr int most_repeat_axes = 4;

// The element at y comes from the one at s * y + offset, its source, where s is -1 along mirrored axes and 1 along others.
struct RepeatMap {
  u32 mirrored = 0;  // bit a: along axis a
  i64 offset[most_repeat_axes] = {};
  u64 votes = 0;

  bool mirrors(int axis) const { return mirrored >> axis & 1; }
  i64 source_of(int axis, i64 y) const { return (mirrors(axis) ? -y : y) + offset[axis]; }
  RepeatMap inverse() const;
};

// The magnitude of a number without its last bits, so that numbers that differ by little mostly have the same: 11 or 28 bits of the
// mantissa are left.
template <class U>
U rough_magnitude(U bits) {
  constexpr int dropped = sizeof(U) == 4 ? 12 : 24;
  return (bits & ~(U(1) << (8 * sizeof(U) - 1))) >> dropped;
}

// The maps that most pairs of similar places agree on, those with most votes first. The array has 1 to most_repeat_axes axes and elements
// of 4 or 8 bytes. The maps are few. They are guesses that the caller must try.
std::vector<RepeatMap> likely_repeat_maps(const Array& a);

}  // namespace stz
