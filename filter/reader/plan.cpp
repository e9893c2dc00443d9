#include "reader/plan.h"

#include <algorithm>

namespace stz {

namespace {

// The cuts of the i-th combination (C order).
std::array<const LevelPlan::Cut*, axes> combination(const LevelPlan& plan, u64 i) {
  std::array<const LevelPlan::Cut*, axes> at;
  for (size_t a = axes; a-- > 0;) {
    at[a] = &plan.cuts[a][size_t(i % plan.cuts[a].size())];
    i /= plan.cuts[a].size();
  }
  return at;
}

}  // namespace

u64 LevelPlan::block(const Level& level, u64 i) const {
  const auto at = combination(*this, i);
  u64 number = 0;
  for (size_t a = 0; a < axes; a++) number = number * u64((level.n[a] + level.block[a] - 1) / level.block[a]) + u64(at[a]->number);
  return number;
}

Box LevelPlan::needed(u64 i) const {
  const auto at = combination(*this, i);
  Box box;
  for (size_t a = 0; a < axes; a++) {
    box.low[a] = at[a]->low;
    box.size[a] = std::max<i64>(0, at[a]->high - at[a]->low);
  }
  return box;
}

size_t coarsest_level(const Hierarchy& h, const Progression& wanted, Progression& in_level) {
  size_t l = 0;
  in_level = wanted;
  for (; l < size_t(h.base_level); l++) {
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

// The cuts of a level that contain samples of a progression.
std::vector<LevelPlan::Cut> cuts_with_samples(i64 start, i64 count, i64 step, i64 block) {
  std::vector<LevelPlan::Cut> cuts;
  for (i64 i = 0; i < count;) {
    const i64 cut = (start + i * step) / block;
    const i64 next = std::min(count, std::max(i + 1, ((cut + 1) * block - start + step - 1) / step));  // the first sample beyond the cut
    cuts.push_back({cut, start + i * step, start + (next - 1) * step + 1});
    i = next;
  }
  return cuts;
}

Span span_of(const Level& level, size_t axis, i64 cut) {
  return {cut * level.block[axis], std::min(level.n[axis], (cut + 1) * level.block[axis])};
}

// Adds the cuts that contain a span, in order of their numbers. `values`: their samples in the span are needed, not only their activities.
void add_span(std::vector<LevelPlan::Cut>& cuts, const Level& level, size_t axis, Span span, bool values) {
  for (i64 c = span.low / level.block[axis]; c <= (span.high - 1) / level.block[axis]; c++) {
    auto it = std::lower_bound(cuts.begin(), cuts.end(), c, [](const LevelPlan::Cut& cut, i64 number) { return cut.number < number; });
    if (it == cuts.end() || it->number != c) it = cuts.insert(it, {c, 0, 0});
    if (!values) continue;
    const Span cut_span = span_of(level, axis, c);
    const i64 low = std::max(cut_span.low, span.low), high = std::min(cut_span.high, span.high);
    const bool none = it->low >= it->high;
    it->low = none ? low : std::min(it->low, low);
    it->high = none ? high : std::max(it->high, high);
  }
}

// How far prediction reaches along an axis from class to class, in samples of the coarser level: once along the axis itself (the stencil's
// reach), and sideways with each tap along another axis. Halo samples are extrapolated from samples within that reach. Masked samples are
// filled from samples up to two away.
constexpr i64 sideways(StencilId id) { return id == stencil_standard ? 1 : 3; }
constexpr i64 filled_from = 2;

}  // namespace

Span coarse_span(const Hierarchy& h, size_t l, size_t axis, Span of_block, Span needed, StencilId reach, bool masked) {
  const Level &level = h.level[l], &coarser = h.level[l + 1];
  const bool split = level.split[axis], halo = level.n[axis] > 1;
  const i64 unit = split ? 2 : 1, below = halo ? reach_below(reach) : 0, above = halo ? reach_above(reach) : 0;
  const i64 farther = halo ? sideways(reach) + (masked ? filled_from : 0) : 0;
  const Span span{std::max(of_block.low / unit - below, needed.low / unit - below - farther),
                  std::min((of_block.high + unit - 1) / unit + above, (needed.high + unit - 1) / unit + above + farther)};
  return {std::max<i64>(0, span.low), std::min<i64>(coarser.n[axis], span.high)};
}

std::vector<LevelPlan> plan_item(const Hierarchy& h, size_t l, const Progression& in_level, const std::vector<LevelReach>& reach,
                                 bool masked, bool whole) {
  std::vector<LevelPlan> plans;
  if (l >= size_t(h.base_level)) return plans;
  LevelPlan plan;
  plan.l = l;
  // axes along which all wanted samples have even coordinates: classes that are odd along one of them are not needed
  int even = 0;
  for (size_t a = 0; a < axes; a++) {
    plan.cuts[a] = cuts_with_samples(in_level.start[a], in_level.count[a], in_level.step[a], h.level[l].block[a]);
    if (h.level[l].split[a] && !(in_level.start[a] & 1) && (in_level.count[a] == 1 || !(in_level.step[a] & 1))) even |= 1 << a;
  }
  if (!whole) {
    const ParityClasses classes = parity_classes_of(h.level[l].split_mask());
    for (int c = 0; c < classes.count; c++)
      if (classes.mask[c] & even) plan.wanted &= ~(1u << c);
  }
  for (;;) {
    const Level& level = h.level[plan.l];
    if (whole || reach[plan.l].serial)
      for (size_t a = 0; a < axes; a++)
        for (LevelPlan::Cut& cut : plan.cuts[a]) {
          const Span span = span_of(level, a, cut.number);
          cut.low = span.low;
          cut.high = span.high;
        }
    plans.push_back(plan);
    if (plan.l + 1 >= size_t(h.base_level)) return plans;
    const Level& coarser = h.level[plan.l + 1];
    LevelPlan next;
    next.l = plan.l + 1;
    for (size_t a = 0; a < axes; a++)
      for (const LevelPlan::Cut& cut : plan.cuts[a]) {
        const Span block = span_of(level, a, cut.number);
        const i64 unit = level.split[a] ? 2 : 1;
        // All coarser samples in the block are needed for their activities; those that needed samples depend on, also for their values.
        add_span(next.cuts[a], coarser, a, {block.low / unit, (block.high + unit - 1) / unit}, false);
        if (cut.low < cut.high)
          add_span(next.cuts[a], coarser, a, coarse_span(h, plan.l, a, block, {cut.low, cut.high}, reach[plan.l].stencil, masked), true);
      }
    plan = std::move(next);
  }
}

}  // namespace stz
