// Chooses the blocks that a read decodes: those on which its samples depend, and whole blocks if the next read will probably need the rest.
// Finds the blocks that have to be fetched.
#pragma once
#include "reader/fetched.h"
#include "reader/level_blocks.h"
#include "reader/stream_sections.h"

namespace stz {

template <class S>
class ReadPlanner {
 public:
  // Both must outlive this object.
  ReadPlanner(const StreamSections<S>& sections, BlockCache<S>& cache) : sections_(sections), cache_(cache) {}

  // The samples to read for a request. If slices across the last axis are read one after the other, several are read at once, because the
  // next ones are in the same cache lines. `limit`: the reader's cache limit in bytes.
  Progression with_columns(size_t l, const Progression& in_level, const Selection& selection, u64 limit) const;

  // Plans of the levels, see plan_item. They have whole blocks if the read is beside the last one, or if a block is cached in part.
  std::vector<LevelPlan> plans_for(size_t l, const Progression& wanted, const Selection& selection) const;

  // Collects the ranges of all needed blocks that are not cached, level by level until a level is cached completely, and puts the cached
  // blocks into `levels` (may be null). Returns whether the finest level has blocks to decode. Ranges of levels finer than `readable` are
  // not collected.
  bool collect(const std::vector<LevelPlan>& plans, u64 item, Fetched& fetched, std::vector<LevelBlocks<S>>* levels, size_t readable = 0);

  // Remembers a read. Later reads are compared with it to see whether they are beside it.
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
