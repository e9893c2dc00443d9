#include "reader/read_planner.h"

#include <algorithm>

namespace stz {
namespace {

constexpr i64 columns_at_once = 16;  // one cache line of float32

}  // namespace

template <class S>
bool ReadPlanner<S>::near_last(const Progression& now) const {
  bool same = true;
  for (size_t a = 0; a < axes; a++) {
    const i64 margin = 2 * std::max(now.step[a], last_.step[a]);
    if (now.start[a] > last_.last(a) + margin || last_.start[a] > now.last(a) + margin) return false;
    same &= now.start[a] == last_.start[a] && now.last(a) == last_.last(a);
  }
  return !same;
}

// Whether this read is beside the last one: the reader moves through the array.
template <class S>
bool ReadPlanner<S>::moving(size_t l, const Progression& in_level) const {
  return cache_.limit() && l == last_level_ && near_last(in_level);
}

template <class S>
bool ReadPlanner<S>::cached_in_part(const LevelPlan& plan, const Selection& selection) const {
  bool in_part = false;
  selection.for_items([&](u64 item, u64) {
    for (u64 i = 0; i < plan.blocks() && !in_part; i++) {
      const u64 number = sections_.block_number(plan, item, i);
      in_part = cache_.has_part(plan.l, number) && !cache_.has(plan.l, number, plan.wanted, plan.needed(i));
    }
  });
  return in_part;
}

template <class S>
Progression ReadPlanner<S>::with_columns(size_t l, const Progression& in_level, const Selection& selection, u64 limit) const {
  const i64 n = sections_.hierarchy().level[l].n[3], first = in_level.start[3] / columns_at_once * columns_at_once;
  const i64 count = std::min(columns_at_once, n - first);
  if (in_level.count[3] != 1 || n == 1 || selection.padded || selection.bytes > limit / (4 * columns_at_once) || !moving(l, in_level))
    return in_level;
  Progression wanted = in_level;
  wanted.start[3] = first;
  wanted.count[3] = count;
  return wanted;
}

template <class S>
std::vector<LevelPlan> ReadPlanner<S>::plans_for(size_t l, const Progression& wanted, const Selection& selection) const {
  const bool masked = sections_.header().masked;
  auto plans_of = [&](bool whole) { return plan_item(sections_.hierarchy(), l, wanted, sections_.reach(), masked, whole); };
  if (moving(l, wanted)) return plans_of(true);
  std::vector<LevelPlan> plans = plans_of(false);
  if (cache_.limit() && cached_in_part(plans[0], selection)) plans = plans_of(true);
  return plans;
}

template <class S>
bool ReadPlanner<S>::collect(const std::vector<LevelPlan>& plans, u64 item, Fetched& fetched, std::vector<LevelBlocks<S>>* levels,
                             size_t readable) {
  bool finest = false;
  for (const LevelPlan& plan : plans) {
    bool missing = false;
    LevelBlocks<S> level_blocks{&plan, std::vector<typename BlockCache<S>::Block>(size_t(plan.blocks()))};
    for (u64 i = 0; i < plan.blocks(); i++) {
      const u64 number = sections_.block_number(plan, item, i);
      auto& block = level_blocks.blocks[size_t(i)];
      block = cache_.find(plan.l, number, plan.wanted, plan.needed(i));
      if (block) continue;
      missing = true;
      if (plan.l < readable) continue;
      sections_.for_streams(plan, number, [&](size_t, const ByteRange& range) { fetched.want(range.offset, range.size); });
      if (plan.needs_samples(i))
        sections_.for_refined_streams(plan, number,
                                      [&](size_t, size_t, const ByteRange& range) { fetched.want(range.offset, range.size); });
    }
    if (levels) levels->push_back(std::move(level_blocks));
    if (!missing) break;
    finest = true;  // finer levels come first; a coarser one is needed only if blocks of this one are missing
  }
  return finest;
}

template class ReadPlanner<float>;
template class ReadPlanner<double>;
template class ReadPlanner<i64>;

}  // namespace stz
