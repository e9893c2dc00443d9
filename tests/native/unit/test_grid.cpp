// The hierarchy of grids: every sample is in one class of one level and in one block of it, and where the maps between levels say.
#include "grid/grid.h"

#include <set>

#include "masks/mask_coder.h"
#include "unit.h"

using namespace unit;

namespace {

Hierarchy random_hierarchy(Random& random) {
  for (;;) {
    Index n;
    std::array<int, axes> offset;
    i64 samples = 1;
    for (size_t a = 0; a < axes; a++) {
      constexpr i64 most[] = {1, 2, 3, 9, 40, 900};
      n[a] = random.between(1, most[random.below(6)]);
      samples *= n[a];
      offset[a] = random.chance(0.5) ? 0 : random.chance(0.2) ? never_split : int(random.below(4));
    }
    if (samples > 60000) continue;
    Hierarchy h;
    if (failure_of([&] { h = make_hierarchy(n, 1 + random.below(3), offset); })) continue;
    for (int l = 0; l < h.base_level; l++) {
      Level& level = h.level[size_t(l)];
      std::array<int, axes> log2_extent = default_block(level, l, stz_block(random.below(3)));
      if (random.chance(0.7))
        for (int& e : log2_extent) e = 1 + int(random.below(5));
      set_block(level, log2_extent);
    }
    return h;
  }
}

std::string text_of(const Hierarchy& h) {
  std::string text;
  for (size_t a = 0; a < axes; a++) text += std::to_string(h.n[a]) + "/" + std::to_string(h.offset[a]) + " ";
  return text;
}

// Calls f(coordinates) for each sample of a level in C order.
template <class F>
void for_samples(const Level& level, F f) {
  Index at;
  for (at[0] = 0; at[0] < level.n[0]; at[0]++)
    for (at[1] = 0; at[1] < level.n[1]; at[1]++)
      for (at[2] = 0; at[2] < level.n[2]; at[2]++)
        for (at[3] = 0; at[3] < level.n[3]; at[3]++) f(at);
}

}  // namespace

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

TEST(classes_partition_every_level) {
  Random random(1);
  for (int turn = 0; turn < 150; turn++) {
    const Hierarchy h = random_hierarchy(random);
    CHECK(h.level[0].n == h.n && h.level.back().split_mask() == 0);
    for (size_t l = 0; l + 1 < h.level.size(); l++) {
      const Level &level = h.level[l], &coarser = h.level[l + 1];
      const ParityClasses classes = parity_classes_of(level.split_mask());
      std::set<int> masks(classes.mask, classes.mask + classes.count);
      CHECK(int(masks.size()) == classes.count && !masks.count(0));
      for (int c = 1; c < classes.count; c++)
        CHECK(__builtin_popcount(unsigned(classes.mask[c - 1])) <= __builtin_popcount(unsigned(classes.mask[c])), "order of classes");
      u64 even = 0;
      for_samples(level, [&](const Index& at) {
        int mask = 0;
        for (size_t a = 0; a < axes; a++)
          if (level.split[a]) mask |= int(at[a] & 1) << a;
        even += mask == 0;
        CHECK(mask == 0 || masks.count(mask), "%s", text_of(h).c_str());
      });
      CHECK(even == coarser.samples(), "class 0 is the coarser level: %s", text_of(h).c_str());
    }
  }
}

TEST(blocks_tile_every_level) {
  Random random(2);
  for (int turn = 0; turn < 150; turn++) {
    const Hierarchy h = random_hierarchy(random);
    for (int l = 0; l < h.base_level; l++) {
      const Level& level = h.level[size_t(l)];
      std::vector<u8> covered(level.samples());
      for (u64 b = 0; b < block_count(level); b++) {
        const Box box = block_box(level, b);
        for (size_t a = 0; a < axes; a++) {
          CHECK(box.low[a] >= 0 && box.size[a] > 0 && box.low[a] + box.size[a] <= level.n[a]);
          CHECK(!level.split[a] || box.low[a] % 2 == 0, "a block begins with an even sample");
          CHECK(!level.split[a] || box.size[a] % 2 == 0 || box.low[a] + box.size[a] == level.n[a]);
        }
        GridPart<u8> grid = whole_grid(covered.data(), level);
        Level of_block = level;
        of_block.n = box.size;
        for_samples(of_block,
                    [&](const Index& at) { ++*grid.at(box.low[0] + at[0], box.low[1] + at[1], box.low[2] + at[2], box.low[3] + at[3]); });
      }
      for (u8 times : covered) CHECK(times == 1, "%s", text_of(h).c_str());
    }
  }
}

TEST(the_root_is_the_finest_level_that_is_small) {
  Random random(3);
  for (int turn = 0; turn < 1000; turn++) {
    const Hierarchy h = random_hierarchy(random);
    CHECK(h.base_level < int(h.level.size()) && h.level.size() <= size_t(max_levels));
    CHECK(h.base_level == 0 || h.level[size_t(h.base_level - 1)].samples() > base_section_samples);
    for (size_t l = size_t(h.base_level); l + 1 < h.level.size(); l++) CHECK(h.level[l].samples() <= base_section_samples);
    for (size_t l = 0; l < h.level.size(); l++)
      for (size_t a = 0; a < axes; a++) {
        const bool once_more = h.offset[a] != never_split && int(l) >= h.offset[a] && h.level[l].n[a] > 2;
        CHECK(!once_more || h.level[l].split[a], "an axis is split from its offset on: %s", text_of(h).c_str());
        CHECK(!h.level[l].split[a] || int(l) >= h.offset[a], "and not before: %s", text_of(h).c_str());
      }
  }
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

TEST(samples_of_a_level_are_where_the_map_says) {
  Random random(4);
  for (int turn = 0; turn < 60; turn++) {
    const Hierarchy h = random_hierarchy(random);
    const u64 items = u64(h.n[0]) * u64(h.n[1]) * u64(h.n[2]) * u64(h.n[3]);
    const u64 item = random.below(h.batch);
    for (size_t l = 0; l < h.level.size(); l++) {
      const LevelMap map = level_map(h, l, item);
      u64 number = 0;
      for_samples(h.level[l], [&](const Index& at) {
        u64 expected = 0;
        for (size_t a = 0; a < axes; a++) {
          i64 finest = at[a];
          for (size_t finer = l; finer-- > 0;)
            if (h.level[finer].split[a]) finest *= 2;
          CHECK(finest < h.n[a]);
          expected = expected * u64(h.n[a]) + u64(finest);
        }
        CHECK(level_zero_index(h.level[l], map, number++) == item * items + expected, "%s", text_of(h).c_str());
      });
    }
  }
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
