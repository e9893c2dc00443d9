#include "reader/lost_areas.h"

#include <algorithm>

namespace stz {
namespace {

constexpr i64 farthest = 16;  // more than any prediction reaches, in samples of the coarser level

bool overlap(Span a, Span b) { return a.low < b.high && b.low < a.high; }

bool empty(Span s) { return s.low >= s.high; }

Span joined(Span a, Span b) {
  if (empty(a)) return b;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// Along one axis, because of lost coarser samples: the samples of blocks that cannot be decoded, and the samples that are predicted from
// lost ones.
struct Spread {
  Span undecodable{0, 0}, predicted{0, 0};
};

// The samples of a block that are predicted from lost samples.
Span predicted_from(const Hierarchy& h, size_t l, size_t axis, Span block, Span lost, StencilId stencil, bool masked) {
  const i64 unit = h.level[l].split[axis] ? 2 : 1;
  auto depends = [&](i64 x) { return overlap(coarse_span(h, l, axis, block, {x, x + 1}, stencil, masked), lost); };
  i64 low = std::max(block.low, unit * (lost.low - farthest)), high = std::min(block.high, unit * (lost.high + farthest));
  while (low < high && !depends(low)) low++;
  while (high > low && !depends(high - 1)) high--;
  return {low, high};
}

Spread spread(const Hierarchy& h, size_t l, size_t axis, Span lost, const LevelReach& reach, bool masked) {
  const Level& level = h.level[l];
  const i64 unit = level.split[axis] ? 2 : 1, extent = level.block[axis], n = level.n[axis];
  const i64 first = std::clamp<i64>(unit * (lost.low - farthest), 0, n - 1) / extent;
  const i64 last = std::clamp<i64>(unit * (lost.high + farthest), 0, n - 1) / extent;
  Spread spread;
  for (i64 cut = first; cut <= last; cut++) {
    const Span block{cut * extent, std::min(n, (cut + 1) * extent)};
    const Span covered{block.low / unit, (block.high + unit - 1) / unit};
    const bool serial = reach.serial && overlap(coarse_span(h, l, axis, block, block, reach.stencil, masked), lost);
    if (serial || overlap(covered, lost)) spread.undecodable = joined(spread.undecodable, block);
    const Span predicted = predicted_from(h, l, axis, block, lost, reach.stencil, masked);
    if (!empty(predicted)) spread.predicted = joined(spread.predicted, predicted);
  }
  return spread;
}

// Sets `box` to the product of the spans of all axes. Returns false if it is empty.
bool box_of(const std::array<Spread, axes>& spreads, Span Spread::*which, Box& box) {
  for (size_t a = 0; a < axes; a++) {
    const Span span = spreads[a].*which;
    if (empty(span)) return false;
    box.low[a] = span.low;
    box.size[a] = span.high - span.low;
  }
  return true;
}

bool inside(const Box& inner, const Box& outer) {
  for (size_t a = 0; a < axes; a++)
    if (inner.low[a] < outer.low[a] || inner.low[a] + inner.size[a] > outer.low[a] + outer.size[a]) return false;
  return true;
}

bool meet(const Box& one, const Box& other) {
  for (size_t a = 0; a < axes; a++)
    if (one.low[a] >= other.low[a] + other.size[a] || other.low[a] >= one.low[a] + one.size[a]) return false;
  return true;
}

}  // namespace

void LostAreas::add(size_t cause, size_t level, const Box& box) {
  if (!have_all(level, box)) areas_.push_back({cause, level, box});
}

void LostAreas::descend(size_t level) {
  for (size_t k = 0, count = areas_.size(); k < count; k++) {
    if (areas_[k].level != level + 1) continue;
    const LostArea coarser = areas_[k];
    std::array<Spread, axes> spreads;
    for (size_t a = 0; a < axes; a++) {
      const Span lost{coarser.box.low[a], coarser.box.low[a] + coarser.box.size[a]};
      spreads[a] = spread(hierarchy_, level, a, lost, reach_[level], masked_);
    }
    Box box;
    if (box_of(spreads, &Spread::predicted, box)) add(coarser.cause, level, box);
    if (box_of(spreads, &Spread::undecodable, box)) add(coarser.cause, level, box);
  }
}

bool LostAreas::have_all(size_t level, const Box& box) const {
  return std::any_of(areas_.begin(), areas_.end(), [&](const LostArea& area) { return area.level == level && inside(box, area.box); });
}

bool LostAreas::have_some(size_t level, const Box& box) const {
  return std::any_of(areas_.begin(), areas_.end(), [&](const LostArea& area) { return area.level == level && meet(box, area.box); });
}

}  // namespace stz
