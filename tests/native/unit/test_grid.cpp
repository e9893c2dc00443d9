// The hierarchy of grids: what the encoder chooses of it, blocks and the levels from which axes are split on, is within its limits.
#include "grid/grid.h"

#include "masks/mask_coder.h"
#include "unit.h"

using namespace unit;

TEST(default_blocks_have_room_for_what_lies_around_them) {
  constexpr i64 extents[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 1 << 20};
  u64 most = 0;
  for (i64 i : extents)
    for (i64 j : extents)
      for (i64 k : extents)
        for (i64 x : extents)
          for (int split = 1; split < 16; split++)
            for (int blocks = 0; blocks < 3; blocks++) {
              Level level{{i, j, k, x}, {}, {}};
              for (size_t a = 0; a < axes; a++) level.split[a] = level.n[a] > 1 && split >> a & 1;
              for (int l = 0; l < 2; l++) {
                set_block(level, default_block(level, l, stz_block(blocks)));  // fails if there are too many
                most = std::max(most, block_room(level));
              }
            }
  CHECK(most > largest_block_room / 2 && most <= largest_block_room, "%llu", static_cast<unsigned long long>(most));
}

TEST(every_level_but_the_coarsest_splits_an_axis) {
  Random random(6);
  int refused = 0;
  for (int turn = 0; turn < 2000; turn++) {
    Index n;
    std::array<int, axes> offset;
    for (size_t a = 0; a < axes; a++) {
      n[a] = random.chance(0.3) ? 1 : random.between(2, 40);
      offset[a] = random.chance(0.2) ? never_split : int(random.below(9));
    }
    const auto none_waits = without_unsplit_levels(n, offset);
    const Hierarchy h = make_hierarchy(n, 1, none_waits);
    for (size_t l = 0; l + 1 < h.level.size(); l++) CHECK(h.level[l].split_mask() != 0);
    for (size_t a = 0; a < axes; a++) CHECK(none_waits[a] <= offset[a]);
    const bool sound = failure_of([&] { make_hierarchy(n, 1, offset); }) == 0;
    CHECK(!sound || none_waits == offset, "sound offsets stay");
    refused += !sound;
  }
  CHECK(refused > 500);
}

TEST(default_blocks_are_of_the_size_that_they_should_be) {
  Random random(5);
  for (int turn = 0; turn < 3000; turn++) {
    Level level{};
    int rank = 0;
    for (i64& n : level.n) {
      n = random.chance(0.3) ? 1 : i64(1 + random.magnitude(20));
      rank += n > 1;
    }
    for (stz_block blocks : {STZ_BLOCK_DEFAULT, STZ_BLOCK_REGION, STZ_BLOCK_THROUGHPUT})
      for (int l : {0, 1, 5}) {
        const auto log2_extent = default_block(level, l, blocks);
        int sum = 0, most = rank <= 1 ? 15 : rank == 2 ? 16 : 18;
        if (rank == 3) most = blocks == STZ_BLOCK_REGION ? (l == 0 ? 15 : 12) : blocks == STZ_BLOCK_THROUGHPUT ? 19 : l == 0 ? 18 : 15;
        for (size_t a = 0; a < axes; a++) {
          CHECK(log2_extent[a] >= 0 && log2_extent[a] <= 30 && (level.n[a] > 1 || log2_extent[a] == 0));
          sum += log2_extent[a];
        }
        // an axis has 8 samples at least, and none is cut that fits into its share
        CHECK(sum <= most + 3 * axes, "2^%d samples", sum);
        set_block(level, log2_extent);
        CHECK(level.block == level.n || sum >= most, "a block of 2^%d samples of a level that has more", sum);
      }
  }
}
