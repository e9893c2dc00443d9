// What a partial read of one item needs, level by level: the blocks and classes that the wanted samples depend on.
//
// Dependencies are separable: the blocks of a level are all combinations of some cuts along each axis.
#pragma once
#include "selection.h"
#include "stencil.h"

namespace stz {

struct LevelPlan {
  size_t l = 0;
  std::array<std::vector<i64>, axes> cuts;  // blocks along each axis, rising
  u32 wanted = all_classes;                 // classes, of those in the list of the level

  u64 blocks() const { return cuts[0].size() * cuts[1].size() * cuts[2].size() * cuts[3].size(); }
  // The number of the i-th block (C order) among those of an item.
  u64 block(const Level& level, u64 i) const;
};

// The coarsest level down from the root that holds all wanted samples, and these in samples of it.
size_t coarsest_level(const Hierarchy& h, const Progression& wanted, Progression& in_level);

// Plans of levels from the one the samples are read from (first) up to below the root; none if that is in the root. `reach` is the stencil
// with the widest reach of every level. `every_class`: also those that these samples do not need.
std::vector<LevelPlan> plan_item(const Hierarchy& h, size_t l, const Progression& in_level, const std::vector<StencilId>& reach,
                                 bool every_class);

// What of the coarser level a block is predicted from: a box of that level.
Box coarse_box(const Hierarchy& h, size_t l, const Box& block, StencilId reach);

}  // namespace stz
