// Finds the samples of an item that are lost to a damaged block: its own samples, and samples of finer levels that are predicted from them
// or whose contexts come from its quantization indices.
//
// Dependencies are separable (reader/plan.h), so the lost samples of a level are a list of boxes. A sample is lost if it is in a lost box
// of the coarsest level that has this sample: a damaged block loses none of the samples that it takes from the coarser level.
#pragma once
#include "reader/plan.h"

namespace stz {

struct LostArea {
  size_t cause;  // number of the damage
  size_t level;
  // In samples of the level. All samples of its parity classes are lost; a sample of class 0 is lost only if an area of a coarser level has
  // it.
  Box box;
};

class LostAreas {
 public:
  // Both must outlive this object. `reach`: one for every level below the base level.
  LostAreas(const Hierarchy& h, const std::vector<LevelReach>& reach, bool masked) : hierarchy_(h), reach_(reach), masked_(masked) {}

  void add(size_t cause, size_t level, const Box& box);
  // Adds the areas that are lost on a level because of the areas of the next coarser level.
  void descend(size_t level);
  // Whether a box of a level is lost completely; whether some of it is.
  bool have_all(size_t level, const Box& box) const;
  bool have_some(size_t level, const Box& box) const;
  const std::vector<LostArea>& all() const { return areas_; }

 private:
  const Hierarchy& hierarchy_;
  const std::vector<LevelReach>& reach_;
  const bool masked_;
  std::vector<LostArea> areas_;
};

}  // namespace stz
