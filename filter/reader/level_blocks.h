// The decoded blocks of one level that a read uses, and gathering boxes of the level from them.
#pragma once
#include <algorithm>

#include "predict/block.h"
#include "reader/block_cache.h"
#include "reader/plan.h"

namespace stz {

// Blocks of one level and item, in the order of the level's plan.
template <class S>
struct LevelBlocks {
  const LevelPlan* plan = nullptr;
  std::vector<typename BlockCache<S>::Block> blocks;
};

// Calls f(block) for all blocks that intersect a box of the level.
template <class S, class F>
void for_blocks_at(const Level& level, const LevelBlocks<S>& of, const Box& box, F f) {
  const auto& cuts = of.plan->cuts;
  size_t from[axes], to[axes];  // indices of the cuts
  for (size_t a = 0; a < axes; a++) {
    auto first = [&](i64 number) {
      auto it = std::lower_bound(cuts[a].begin(), cuts[a].end(), number, [](const LevelPlan::Cut& cut, i64 n) { return cut.number < n; });
      return size_t(it - cuts[a].begin());
    };
    from[a] = first(box.low[a] / level.block[a]);
    to[a] = first((box.low[a] + box.size[a] - 1) / level.block[a] + 1);
  }
  for (size_t i = from[0]; i < to[0]; i++)
    for (size_t j = from[1]; j < to[1]; j++)
      for (size_t k = from[2]; k < to[2]; k++)
        for (size_t x = from[3]; x < to[3]; x++) f(*of.blocks[((i * cuts[1].size() + j) * cuts[2].size() + k) * cuts[3].size() + x]);
}

// Copies a box of a level from the blocks. Samples that no block has are left unchanged. `member`: the array of the blocks to copy.
template <class S, class T>
GridPart<const T> gather(const Level& level, const LevelBlocks<S>& from, Buffer<T> DecodedBlock<S>::*member, const Box& box,
                         Buffer<T>& buffer) {
  buffer.resize(size_t(box.size[0] * box.size[1] * box.size[2] * box.size[3]));
  const GridPart<T> to{buffer.data(), box};
  for_blocks_at(level, from, box, [&](const DecodedBlock<S>& block) {
    const Buffer<T>& array = block.*member;
    if (array.empty()) return;
    Index low, high;
    for (size_t a = 0; a < axes; a++) {
      low[a] = std::max(box.low[a], block.box.low[a]);
      high[a] = std::min(box.low[a] + box.size[a], block.box.low[a] + block.box.size[a]);
    }
    const GridPart<const T> part{array.data(), block.box};
    for_rows({low[0], low[1], low[2], 0}, {high[0], high[1], high[2], 1},
             [&](i64 i, i64 j, i64 k) { memcpy(to.at(i, j, k, low[3]), part.at(i, j, k, low[3]), size_t(high[3] - low[3]) * sizeof(T)); });
  });
  return to;
}

}  // namespace stz
