// The plan of a partial read of one item, level by level: the blocks and parity classes that the wanted samples depend on.
//
// Dependencies are separable: the blocks of a level are all combinations of cuts along the axes. A block is decoded whole, but only where
// its samples depend on what was fetched of the coarser level are they those of the whole array: `needed` says where that is so.
#pragma once
#include "grid/stencil.h"
#include "reader/selection.h"

namespace stz {

struct LevelPlan {
  struct Cut {
    i64 number;     // of the block along the axis
    i64 low, high;  // samples [low, high) of it are needed; none: the block is there for its activities
  };
  size_t l = 0;
  std::array<std::vector<Cut>, axes> cuts;  // rising
  u32 wanted = all_classes;                 // classes, of those in the list of the level

  u64 blocks() const { return cuts[0].size() * cuts[1].size() * cuts[2].size() * cuts[3].size(); }
  // The number of the i-th block (C order) among those of an item, and the box of its samples that are needed.
  u64 block(const Level& level, u64 i) const;
  Box needed(u64 i) const;
  // None: the block is decoded for its activities alone.
  bool needs_samples(u64 i) const {
    const Box box = needed(i);
    return box.size[0] && box.size[1] && box.size[2] && box.size[3];
  }
};

// The coarsest level down from the base level that holds all wanted samples, and these in samples of it.
size_t coarsest_level(const Hierarchy& h, const Progression& wanted, Progression& in_level);

struct LevelReach {
  StencilId stencil = stencil_standard;  // the widest one
  bool serial = false;                   // edge mode: a block is decoded from its first sample to its last, whatever is wanted of it
};

// Plans of levels from the one the samples are read from (first) up to the one below the base level; none if that is in the base section.
// `reach` is what the predictions of every level reach; `masked`: samples may be. `whole`: whole blocks, with all classes.
std::vector<LevelPlan> plan_item(const Hierarchy& h, size_t l, const Progression& in_level, const std::vector<LevelReach>& reach,
                                 bool masked, bool whole);

// Samples [low, high) along one axis.
struct Span {
  i64 low, high;
};
// What of the coarser level the samples `needed` of a block, which is `of_block`, are predicted from.
Span coarse_span(const Hierarchy& h, size_t l, size_t axis, Span of_block, Span needed, StencilId reach, bool masked);

}  // namespace stz
