#include "plan.h"

#include <algorithm>

namespace stz {

u64 LevelPlan::block(const Level& level, u64 i) const {
  Index at;
  for (size_t a = axes; a-- > 0;) {
    at[a] = cuts[a][size_t(i % cuts[a].size())];
    i /= cuts[a].size();
  }
  u64 number = 0;
  for (size_t a = 0; a < axes; a++) number = number * u64((level.n[a] + level.block[a] - 1) / level.block[a]) + u64(at[a]);
  return number;
}

size_t coarsest_level(const Hierarchy& h, const Progression& wanted, Progression& in_level) {
  size_t l = 0;
  in_level = wanted;
  for (; l < size_t(h.root); l++) {
    for (size_t a = 0; a < axes; a++)
      if (h.level[l].split[a] && ((in_level.start[a] & 1) || (in_level.count[a] > 1 && in_level.step[a] & 1))) return l;
    for (size_t a = 0; a < axes; a++)
      if (h.level[l].split[a]) {
        in_level.start[a] /= 2;
        if (in_level.count[a] > 1) in_level.step[a] /= 2;
      }
  }
  return l;
}

namespace {

// The cuts of a level that a progression has samples in.
std::vector<i64> cuts_with_samples(i64 start, i64 count, i64 step, i64 block) {
  std::vector<i64> cuts;
  for (i64 i = 0; i < count;) {
    const i64 cut = (start + i * step) / block;
    cuts.push_back(cut);
    i = std::max(i + 1, ((cut + 1) * block - start + step - 1) / step);  // the first beyond it
  }
  return cuts;
}

}  // namespace

Box coarse_box(const Hierarchy& h, size_t l, const Box& block, StencilId reach) {
  const Level &own = h.level[l], &coarser = h.level[l + 1];
  Box box;
  for (size_t a = 0; a < axes; a++) {
    const i64 start = own.split[a] ? block.low[a] / 2 : block.low[a], even = own.split[a] ? (block.size[a] + 1) / 2 : block.size[a];
    const bool halo = own.n[a] > 1;
    const i64 low = std::max<i64>(0, start - (halo ? reach_below(reach) : 0));
    const i64 high = std::min<i64>(coarser.n[a], start + even + (halo ? reach_above(reach) : 0));
    box.low[a] = low;
    box.size[a] = high - low;
  }
  return box;
}

std::vector<LevelPlan> plan_item(const Hierarchy& h, size_t l, const Progression& in_level, const std::vector<StencilId>& reach,
                                 bool every_class) {
  std::vector<LevelPlan> plans;
  if (l >= size_t(h.root)) return plans;
  LevelPlan plan;
  plan.l = l;
  int even = 0;  // axes along which all wanted samples have even coordinates: classes that are odd along them are not needed
  for (size_t a = 0; a < axes; a++) {
    plan.cuts[a] = cuts_with_samples(in_level.start[a], in_level.count[a], in_level.step[a], h.level[l].block[a]);
    if (h.level[l].split[a] && !(in_level.start[a] & 1) && (in_level.count[a] == 1 || !(in_level.step[a] & 1))) even |= 1 << a;
  }
  if (!every_class) {
    const ClassList classes = classes_of(h.level[l].split_mask());
    for (int c = 0; c < classes.count; c++)
      if (classes.mask[c] & even) plan.wanted &= ~(1u << c);
  }
  for (;;) {
    plans.push_back(plan);
    if (plan.l + 1 >= size_t(h.root)) return plans;
    const Level &own = h.level[plan.l], &coarser = h.level[plan.l + 1];
    LevelPlan next;
    next.l = plan.l + 1;
    for (size_t a = 0; a < axes; a++)
      for (i64 cut : plan.cuts[a]) {
        Box block{{}, {1, 1, 1, 1}};
        block.low[a] = cut * own.block[a];
        block.size[a] = std::min(own.block[a], own.n[a] - block.low[a]);
        const Box needed = coarse_box(h, plan.l, block, reach[plan.l]);
        const i64 first = needed.low[a] / coarser.block[a], last = (needed.low[a] + needed.size[a] - 1) / coarser.block[a];
        std::vector<i64>& cuts = next.cuts[a];
        for (i64 c = cuts.empty() ? first : std::max(first, cuts.back() + 1); c <= last; c++) cuts.push_back(c);
      }
    plan = std::move(next);
  }
}

}  // namespace stz
