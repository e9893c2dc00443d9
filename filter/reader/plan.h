// Plans a partial read of one item, level by level: the blocks and parity classes that the wanted samples depend on.
//
// Dependencies are separable, so the blocks of a level are all combinations of cuts along the axes. A block is always decoded whole, but
// its samples are right only where the coarser samples that they depend on were fetched: in the box `needed`.
#pragma once
#include "grid/stencil.h"
#include "reader/selection.h"

namespace stz {

struct LevelPlan {
  struct Cut {
    i64 number;     // number of the block along the axis
    i64 low, high;  // samples [low, high) are needed; if empty, the block is decoded for its activities only
  };
  size_t l = 0;
  std::array<std::vector<Cut>, axes> cuts;  // sorted by number
  u32 wanted = all_classes;                 // a bit for each wanted class, in the order of the level's list of classes

  u64 blocks() const { return cuts[0].size() * cuts[1].size() * cuts[2].size() * cuts[3].size(); }
  // The number of the i-th block (C order) among the blocks of an item, and the box of its needed samples.
  u64 block(const Level& level, u64 i) const;
  Box needed(u64 i) const;
  // False: the block is decoded for its activities only.
  bool needs_samples(u64 i) const {
    const Box box = needed(i);
    return box.size[0] && box.size[1] && box.size[2] && box.size[3];
  }
};

// Returns the coarsest level that holds all wanted samples, and sets `in_level` to these in samples of that level.
size_t coarsest_level(const Hierarchy& h, const Progression& wanted, Progression& in_level);

struct LevelReach {
  StencilId stencil = stencil_standard;  // the stencil with the widest reach
  bool serial = false;                   // edge mode: a block can only be decoded serially, from its first sample to its last
};

// The plans of the levels from l, which the samples are read from, up to the one below the base level. None if level l is in the base
// section. `reach`: of the predictions of every level. `masked`: samples may be masked. `whole`: plan whole blocks with all classes.
std::vector<LevelPlan> plan_item(const Hierarchy& h, size_t l, const Progression& in_level, const std::vector<LevelReach>& reach,
                                 bool masked, bool whole);

// Samples [low, high) along one axis.
struct Span {
  i64 low, high;
};
// The coarser samples that the samples `needed` of a block are predicted from. `of_block`: all samples of the block.
Span coarse_span(const Hierarchy& h, size_t l, size_t axis, Span of_block, Span needed, StencilId reach, bool masked);

}  // namespace stz
