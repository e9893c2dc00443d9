// Stencils: which neighbours predict a sample of a parity class, in symmetric groups.
//
// A tap is a neighbour at given distances along the axes: odd ones along odd axes, even ones along even axes, in samples of the level.
// Along an axis that is not split a distance of 2 is the next sample. Taps of a group share a weight. Groups in order: the faces at +-1 of
// each odd axis, those at +-3, those at +-5, then the nearest diagonal neighbours, then, in wide stencils, farther ones. Stencil ids and
// the order of groups and taps are part of the format: sums are formed in that order.
#pragma once
#include <vector>

#include "grid/grid.h"

namespace stz {

enum StencilId : int { stencil_standard = 0, stencil_wide = 1, stencil_long = 2, stencil_count = 3 };
// Weight groups of the standard stencil are a prefix of those of the wide one, and these of the long one.
constexpr int most_axes_of_long_stencil = 2;  // with more than one sample: around a block of more axes there would be too many samples

using Tap = std::array<int, axes>;  // distance along each axis
struct Group {
  std::vector<Tap> taps;
  int context_weight;  // of the group's mean in contexts, in quarters: 4 nearest faces, 1 faces at +-3, 2 diagonal, 0 none
};
struct Stencil {
  int odd = 0;                // number of odd axes
  std::vector<Group> groups;  // groups[0..odd) are the faces at +-1, groups[odd..2 odd) those at +-3
};

// Stencil of class `mask` on a level whose axes in `active` have more than one sample. Made once.
const Stencil& stencil_of(StencilId id, int mask, int active);

// Farthest reach of a stencil id in half-steps of the even grid, below and above.
constexpr int reach_below(StencilId id) { return id == stencil_long ? 4 : 2; }
constexpr int reach_above(StencilId id) { return id == stencil_long ? 5 : 3; }
// What contexts see: groups with a context weight.
constexpr int context_reach_below = 1, context_reach_above = 2;

}  // namespace stz
