// Finds the samples of an item that are lost to a damaged block: its own, and those of finer levels that are predicted from them or whose
// contexts come from its quantization indices.
//
// Dependencies are separable (reader/plan.h), so what is lost on a level is a list of boxes. A sample is lost if the first level that has
// it lost the box around it: the samples that a damaged block has from the coarser level are whole.
#pragma once
#include "reader/plan.h"

namespace stz {

struct LostArea {
  size_t cause;  // the number of the damage
  size_t level;
  Box box;  // in samples of the level: those of its parity classes are lost, of class 0 only what an area of a coarser level has
};

class LostAreas {
 public:
  // Both must live as long as this. `reach`: of every level below the base level.
  LostAreas(const Hierarchy& h, const std::vector<LevelReach>& reach, bool masked) : hierarchy_(h), reach_(reach), masked_(masked) {}

  void add(size_t cause, size_t level, const Box& box);
  // Adds what is lost on a level because of areas of the next coarser one.
  void descend(size_t level);
  // Whether a box of a level, a block, is lost as a whole; whether some of it is.
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
