// Stencils: the neighbours that predict a sample of a parity class, in symmetric groups.
//
// A tap is a neighbour at given distances along the axes, in samples of the level: odd distances along odd axes, even ones along even axes.
// Along an axis that is not split, distance 2 is the next sample. All taps of a group share a weight.
// Order of groups: the faces at +-1 of each odd axis, the faces at +-3, those at +-5, the nearest diagonal neighbours, then farther ones in
// wide stencils. Stencil ids and the order of groups and taps are part of the format, because sums are formed in that order.
#pragma once
#include <vector>

#include "grid/grid.h"

namespace stz {

enum StencilId : int { stencil_standard = 0, stencil_wide = 1, stencil_long = 2, stencil_count = 3 };
// The groups of the standard stencil are a prefix of those of the wide one, which are a prefix of those of the long one.
// axes with more than one sample: with more of them a block would have too large a halo
constexpr int most_axes_of_long_stencil = 2;

using Tap = std::array<int, axes>;  // distance along each axis
struct Group {
  std::vector<Tap> taps;
  int context_weight;  // of the group's mean in contexts, in quarters: 4 nearest faces, 1 faces at +-3, 2 diagonal, 0 none
};
struct Stencil {
  int odd = 0;                // number of odd axes
  std::vector<Group> groups;  // groups[0..odd) are the faces at +-1, groups[odd..2 odd) those at +-3
};

// The stencil of class `mask` on a level; axes in `active` have more than one sample. Made once and kept.
const Stencil& stencil_of(StencilId id, int mask, int active);

// Reach of a stencil, in samples of the class arrays (half-steps), below and above.
constexpr int reach_below(StencilId id) { return id == stencil_long ? 4 : 2; }
constexpr int reach_above(StencilId id) { return id == stencil_long ? 5 : 3; }
// Reach of contexts: groups with a context weight.
constexpr int context_reach_below = 1, context_reach_above = 2;

}  // namespace stz
