// Chooses the blocks that a read decodes: those on which its samples depend, and more if the next read will probably need the rest.
// Finds those that have to be fetched.
#pragma once
#include "reader/fetched.h"
#include "reader/level_blocks.h"
#include "reader/stream_sections.h"

namespace stz {

template <class S>
class ReadPlanner {
 public:
  // Both must live as long as this.
  ReadPlanner(const StreamSections<S>& sections, BlockCache<S>& cache) : sections_(sections), cache_(cache) {}

  // What to read for a request: of a slice across the last axis that moves along it several at once, as the next ones are in the same
  // cache lines. `limit`: of what the reader keeps, in bytes.
  Progression with_columns(size_t l, const Progression& in_level, const Selection& selection, u64 limit) const;

  // Plans of the levels, see plan_item. Beside the read before, or where a block was read in part, they have whole blocks.
  std::vector<LevelPlan> plans_for(size_t l, const Progression& wanted, const Selection& selection) const;

  // The ranges of all blocks that are needed and not cached, level by level until none is missing, and the cached ones in `levels` (or
  // null). Whether blocks of the finest of these levels are among them. Of levels finer than `readable`, nothing can be fetched.
  bool collect(const std::vector<LevelPlan>& plans, u64 item, Fetched& fetched, std::vector<LevelBlocks<S>>* levels, size_t readable = 0);

  // The read that later ones may be beside.
  void remember(size_t l, const Progression& in_level) {
    last_level_ = l;
    last_ = in_level;
  }

 private:
  bool moving(size_t l, const Progression& in_level) const;
  bool near_last(const Progression& now) const;
  bool cached_in_part(const LevelPlan& plan, const Selection& selection) const;

  const StreamSections<S>& sections_;
  BlockCache<S>& cache_;
  size_t last_level_ = size_t(-1);
  Progression last_;
};

}  // namespace stz
