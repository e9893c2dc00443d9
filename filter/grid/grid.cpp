#include "grid/grid.h"

#include <algorithm>

namespace stz {

Hierarchy make_hierarchy(const Index& n, u64 batch, const std::array<int, axes>& offset) {
  Hierarchy h;
  h.n = n;
  h.batch = batch;
  h.offset = offset;
  Index m = n;
  for (int l = 0; l < max_levels; l++) {
    Level level;
    level.n = m;
    bool more = false;
    for (int a = 0; a < axes; a++) {
      require(m[a] >= 1, STZ_ERROR_CORRUPT);
      level.split[a] = m[a] > 1 && l >= offset[a];
      if (offset[a] != never_split && m[a] > 2) more = true;
    }
    if (!more) level.split = {};
    level.block = m;
    h.level.push_back(level);
    if (!more) break;
    require(level.split_mask() != 0, STZ_ERROR_CORRUPT);
    for (int a = 0; a < axes; a++)
      if (level.split[a]) m[a] = (m[a] + 1) / 2;
  }
  require(h.level.back().split_mask() == 0, STZ_ERROR_CORRUPT);  // some offsets leave no coarsest level
  h.base_level = int(h.level.size()) - 1;
  while (h.base_level > 0 && h.level[size_t(h.base_level - 1)].samples() <= base_section_samples) h.base_level--;
  return h;
}

std::array<int, axes> without_unsplit_levels(Index n, std::array<int, axes> offset) {
  for (int l = 0;; l++) {
    bool more = false, split = false;
    int first = never_split;  // level at which the next axis is split
    for (size_t a = 0; a < axes; a++) {
      more |= offset[a] != never_split && n[a] > 2;
      split |= n[a] > 1 && l >= offset[a];
      if (n[a] > 1) first = std::min(first, offset[a]);
    }
    if (!more) return offset;
    for (size_t a = 0; a < axes; a++) {
      if (!split && offset[a] != never_split) offset[a] = std::max(offset[a] - (first - l), std::min(offset[a], l));
      if (l >= offset[a]) n[a] = (n[a] + 1) / 2;
    }
  }
}

namespace {

// log2 of a block's samples, which its axes share, and whether rows get more than their share.
struct BlockBudget {
  int samples;
  bool long_rows;
};
BlockBudget block_budget(int rank, int l, stz_block blocks) {
  if (rank <= 1) return {15, false};
  if (rank == 2) return {16, false};
  if (rank == 4) return {18, false};
  if (blocks == STZ_BLOCK_REGION) return {l == 0 ? 15 : 12, false};
  if (blocks == STZ_BLOCK_THROUGHPUT) return {19, true};
  return {l == 0 ? 18 : 16, l == 0};
}

}  // namespace

std::array<int, axes> default_block(const Level& level, int l, stz_block blocks) {
  int rank = 0;
  for (i64 n : level.n) rank += n > 1;
  BlockBudget budget = block_budget(rank, l, blocks);
  std::array<int, axes> log2_extent{};
  std::array<bool, axes> settled{};
  auto settle = [&](int a, int extent) {
    log2_extent[a] = extent;
    settled[a] = true;
    budget.samples = std::max(0, budget.samples - extent);
  };
  // a thin axis is not cut: its share goes to the other axes
  for (int round = 0; round < axes; round++) {
    int open = 0, thin = -1;
    for (int a = 0; a < axes; a++) open += !settled[a];
    if (!open) break;
    const int share = std::max(3, budget.samples / open);
    for (int a = 0; a < axes; a++)
      if (!settled[a] && ceil_log2(u64(level.n[a])) <= share && (thin < 0 || level.n[a] < level.n[thin])) thin = a;
    if (thin >= 0) {
      settle(thin, ceil_log2(u64(level.n[thin])));
      continue;
    }
    // the last axes get the remainder
    for (int a = axes - 1, left = open; a >= 0; a--)
      if (!settled[a]) {
        settle(a, std::max(3, (budget.samples + left - 1) / left + (budget.long_rows && left == 3)));
        left--;
      }
  }
  return log2_extent;
}

std::array<int, axes> larger_block(const Level& level, std::array<int, axes> log2_extent, int times) {
  for (int a = 0; a < axes; a++) {
    const int grown = std::min(log2_extent[a] + times, ceil_log2(u64(level.n[a])));
    log2_extent[a] = std::max({log2_extent[a], grown, 1});  // a list of extents has none below 1
  }
  return log2_extent;
}

bool block_fits(Level level, const std::array<int, axes>& log2_extent) {
  u64 samples = 1;  // no overflow: at most the samples of the level
  for (int a = 0; a < axes; a++) {
    level.block[a] = std::min<i64>(level.n[a], i64(1) << log2_extent[a]);
    samples *= u64(level.block[a]);
  }
  return samples <= largest_block && block_room(level) <= largest_block_room;
}

void set_block(Level& level, const std::array<int, axes>& log2_extent) {
  require(block_fits(level, log2_extent), STZ_ERROR_CORRUPT);
  for (int a = 0; a < axes; a++) level.block[a] = std::min<i64>(level.n[a], i64(1) << log2_extent[a]);
}

u64 block_room(const Level& level) {
  // no overflow: `largest_block` limits the samples, and each extent grows at most sixfold
  u64 room = 1;
  for (int a = 0; a < axes; a++) {
    const u64 extent = u64(level.block[a]);
    room *= level.split[a] ? 2 * ((extent + 1) / 2 + block_margin) : level.n[a] > 1 ? extent + block_margin : 1;
  }
  return room;
}

ParityClasses parity_classes_of(int split_mask) {
  ParityClasses list;
  for (int odd = 1; odd <= axes; odd++)
    for (int mask = 1; mask < (1 << axes); mask++)
      if ((mask & ~split_mask) == 0 && __builtin_popcount(unsigned(mask)) == odd) list.mask[list.count++] = mask;
  return list;
}

u64 block_count(const Level& level) {
  u64 count = 1;
  for (int a = 0; a < axes; a++) count *= u64((level.n[a] + level.block[a] - 1) / level.block[a]);
  return count;
}

Box block_box(const Level& level, u64 index) {
  Box box;
  for (int a = axes - 1; a >= 0; a--) {
    u64 cuts = u64((level.n[a] + level.block[a] - 1) / level.block[a]);
    box.low[a] = i64(index % cuts) * level.block[a];
    box.size[a] = std::min(level.block[a], level.n[a] - box.low[a]);
    index /= cuts;
  }
  return box;
}

}  // namespace stz
