// Plans of partial reads: they have all that the wanted samples are computed from. What is outside of them may be anything.
#include "reader/plan.h"

#include <algorithm>

#include "predict/block_codec.h"
#include "predict/block_rows.h"
#include "unit.h"

using namespace unit;

namespace {

// One to three axes that are cut into several blocks on several levels.
Hierarchy random_hierarchy(Random& random) {
  Index n{1, 1, 1, 1};
  std::array<int, axes> offset{};
  const size_t rank = 1 + random.below(3);
  for (size_t a = axes - rank; a < axes; a++) {
    n[a] = rank == 1 ? random.between(600, 3000) : rank == 2 ? random.between(20, 80) : random.between(7, 30);
    offset[a] = random.chance(0.2) ? 1 : random.chance(0.05) ? never_split : 0;
  }
  Hierarchy h = make_hierarchy(n, 1, without_unsplit_levels(n, offset));
  for (int l = 0; l < h.base_level; l++) {
    std::array<int, axes> log2_extent;
    for (int& e : log2_extent) e = 2 + int(random.below(5));
    set_block(h.level[size_t(l)], log2_extent);
  }
  return h;
}

ClassParameters random_parameters(Random& random, int cls, int active, StencilId reach) {
  ClassParameters p;
  p.stencil = u8(random.below(u64(reach) + 1));
  p.groups = u8(stencil_of(StencilId(p.stencil), cls, active).groups.size());
  p.precision = 8;
  for (int g = 0; g < p.groups; g++) p.weight[g] = i32(random.between(-200, 200));
  if (random.chance(0.15)) p = {};  // the mean of the cubics
  if (random.chance(0.15)) p.predictor = predict_median;
  return p;
}

// The samples of a block, with indexes of zero, given the whole coarser level.
std::vector<double> decoded(const Level& level, const Level& coarser, const Box& box, const std::vector<double>& coarse, StencilId reach,
                            const ClassParameters* parameters) {
  BlockWork<double> work;
  work.prepare(level, box, reach);
  std::fill(work.values.begin(), work.values.end(), 0.0);
  load_coarse<double>(work.geometry, whole_grid(coarse.data(), coarser), work.values.data());
  for (int c = 0; c < work.geometry.classes.count; c++) {
    const int cls = work.geometry.classes.mask[c];
    for_predicted_rows(work, cls, parameters[cls],
                       [](double* samples, const double* prediction, int n, size_t, const Index&) { std::copy_n(prediction, n, samples); });
    fill_halo_of_class(work.geometry, cls, work.plan(cls, parameters[cls]).cubic, work.values.data());
  }
  std::vector<double> samples(size_t(box.size[0] * box.size[1] * box.size[2] * box.size[3]));
  store_block<double>(work.geometry, work.values.data(), {samples.data(), box});
  return samples;
}

Span random_span(Random& random, Span within) {
  const i64 low = random.between(within.low, within.high - 1);
  return {low, random.between(low + 1, within.high)};
}

}  // namespace

// The span of a block's needed samples holds every sample of the coarser level that they depend on: others are replaced by huge numbers.
TEST(spans_cover_what_is_predicted_from) {
  Random random(1);
  int within = 0;
  for (int turn = 0; turn < 3000; turn++) {
    const Hierarchy h = random_hierarchy(random);
    if (h.base_level == 0) continue;
    const size_t l = random.below(u64(h.base_level));
    const Level &level = h.level[l], &coarser = h.level[l + 1];
    const Box box = block_box(level, random.below(block_count(level)));
    const StencilId reach = StencilId(random.below(stencil_count));
    ClassParameters parameters[16];
    for (int cls = 1; cls < 16; cls++) parameters[cls] = random_parameters(random, cls, level.active_mask(), reach);
    Span needed[axes], span[axes];
    for (size_t a = 0; a < axes; a++) {
      const Span of_block{box.low[a], box.low[a] + box.size[a]};
      needed[a] = random_span(random, of_block);
      span[a] = coarse_span(h, l, a, of_block, needed[a], reach, false);
      CHECK(span[a].low >= 0 && span[a].low < span[a].high && span[a].high <= coarser.n[a]);
      within += span[a].high - span[a].low < coarser.n[a];
    }
    std::vector<double> coarse(coarser.samples());
    for (double& v : coarse) v = double(random.between(-1000, 1000));
    const std::vector<double> samples = decoded(level, coarser, box, coarse, reach, parameters);
    const GridPart<double> grid = whole_grid(coarse.data(), coarser);
    for_rows({}, {coarser.n[0], coarser.n[1], coarser.n[2], 1}, [&](i64 i, i64 j, i64 k) {
      for (i64 x = 0; x < coarser.n[3]; x++) {
        const Index at{i, j, k, x};
        for (size_t a = 0; a < axes; a++)
          if (at[a] < span[a].low || at[a] >= span[a].high) *grid.at(i, j, k, x) = 1e30;
      }
    });
    const std::vector<double> again = decoded(level, coarser, box, coarse, reach, parameters);
    const GridPart<const double> before{samples.data(), box}, after{again.data(), box};
    for_rows({needed[0].low, needed[1].low, needed[2].low, 0}, {needed[0].high, needed[1].high, needed[2].high, 1},
             [&](i64 i, i64 j, i64 k) {
               for (i64 x = needed[3].low; x < needed[3].high; x++)
                 CHECK(*before.at(i, j, k, x) == *after.at(i, j, k, x), "case %d, level %zu, sample %lld %lld %lld %lld", turn, l,
                       (long long)i, (long long)j, (long long)k, (long long)x);
             });
  }
  CHECK(within > 1000, "a span is smaller than the level %d times", within);
}

namespace {

struct Wanted {
  Hierarchy h;
  size_t l;  // the level that they are read from
  Progression in_level;
};

Wanted random_wanted(Random& random) {
  Wanted w{random_hierarchy(random), 0, {}};
  Progression wanted;
  for (size_t a = 0; a < axes; a++) {
    constexpr i64 steps[] = {1, 1, 2, 4, 8, 3};
    wanted.start[a] = random.between(0, w.h.n[a] - 1);
    if (random.chance(0.4)) wanted.start[a] = wanted.start[a] / 8 * 8;
    wanted.step[a] = steps[random.below(6)];
    wanted.count[a] = random.between(1, (w.h.n[a] - 1 - wanted.start[a]) / wanted.step[a] + 1);
  }
  w.l = coarsest_level(w.h, wanted, w.in_level);
  for (size_t a = 0; a < axes; a++) {
    i64 finest = 1;
    for (size_t l = 0; l < w.l; l++)
      if (w.h.level[l].split[a]) finest *= 2;
    for (i64 i = 0; i < wanted.count[a]; i++)
      CHECK((w.in_level.start[a] + i * w.in_level.step[a]) * finest == wanted.start[a] + i * wanted.step[a], "the same samples");
  }
  return w;
}

bool is_needed(const LevelPlan& plan, size_t a, i64 at) {
  return std::any_of(plan.cuts[a].begin(), plan.cuts[a].end(), [&](const LevelPlan::Cut& cut) { return cut.low <= at && at < cut.high; });
}

}  // namespace

TEST(plans_hold_the_wanted_samples_and_what_each_level_needs_of_the_next) {
  Random random(2);
  for (int turn = 0; turn < 2000; turn++) {
    const Wanted w = random_wanted(random);
    std::vector<LevelReach> reach;
    for (size_t l = 0; l < w.h.level.size(); l++) reach.push_back({StencilId(random.below(stencil_count)), random.below(4) == 0});
    const bool masked = random.below(2), whole = random.chance(0.2);
    const std::vector<LevelPlan> plans = plan_item(w.h, w.l, w.in_level, reach, masked, whole);
    CHECK(plans.size() == (w.l < size_t(w.h.base_level) ? size_t(w.h.base_level) - w.l : 0));
    for (size_t p = 0; p < plans.size(); p++) {
      const LevelPlan& plan = plans[p];
      const Level& level = w.h.level[plan.l];
      CHECK(plan.l == w.l + p);
      for (size_t a = 0; a < axes; a++) {
        if (p == 0)
          for (i64 i = 0; i < w.in_level.count[a]; i++) CHECK(is_needed(plan, a, w.in_level.start[a] + i * w.in_level.step[a]));
        for (size_t c = 0; c < plan.cuts[a].size(); c++) {
          const LevelPlan::Cut& cut = plan.cuts[a][c];
          const Span of_block{cut.number * level.block[a], std::min(level.n[a], (cut.number + 1) * level.block[a])};
          CHECK(c == 0 || plan.cuts[a][c - 1].number < cut.number, "cuts rise");
          CHECK(of_block.low >= 0 && of_block.low < level.n[a]);
          if (reach[plan.l].serial) CHECK(cut.low == of_block.low && cut.high == of_block.high, "whole blocks in edge mode");
          if (cut.low >= cut.high) continue;
          CHECK(of_block.low <= cut.low && cut.high <= of_block.high);
          if (p + 1 == plans.size()) continue;
          const Span coarse = coarse_span(w.h, plan.l, a, of_block, {cut.low, cut.high}, reach[plan.l].stencil, masked);
          for (i64 at = coarse.low; at < coarse.high; at++) CHECK(is_needed(plans[p + 1], a, at), "case %d, level %zu", turn, plan.l);
        }
      }
    }
  }
}

TEST(classes_that_are_left_out_have_no_wanted_samples) {
  Random random(3);
  int left_out = 0;
  for (int turn = 0; turn < 2000; turn++) {
    const Wanted w = random_wanted(random);
    const std::vector<LevelReach> reach(w.h.level.size());
    const std::vector<LevelPlan> plans = plan_item(w.h, w.l, w.in_level, reach, false, false);
    if (plans.empty()) continue;
    const Level& level = w.h.level[w.l];
    const ParityClasses classes = parity_classes_of(level.split_mask());
    for (int c = 0; c < classes.count; c++) {
      if (plans[0].wanted >> c & 1) continue;
      left_out++;
      bool has_samples = true;  // along every axis there is a wanted coordinate of the class's parity
      for (size_t a = 0; a < axes; a++) {
        bool along = !level.split[a];
        for (i64 i = 0; i < w.in_level.count[a] && !along; i++)
          along = ((w.in_level.start[a] + i * w.in_level.step[a]) & 1) == (classes.mask[c] >> a & 1);
        has_samples = has_samples && along;
      }
      CHECK(!has_samples, "case %d, class %d", turn, classes.mask[c]);
    }
    for (size_t p = 1; p < plans.size(); p++) CHECK(plans[p].wanted == all_classes, "finer levels are predicted from all classes");
  }
  CHECK(left_out > 500, "%d", left_out);
}

TEST(blocks_of_a_plan_are_the_combinations_of_its_cuts) {
  Random random(4);
  for (int turn = 0; turn < 1000; turn++) {
    const Wanted w = random_wanted(random);
    const std::vector<LevelReach> reach(w.h.level.size(), {stencil_wide, false});
    for (const LevelPlan& plan : plan_item(w.h, w.l, w.in_level, reach, true, false)) {
      const Level& level = w.h.level[plan.l];
      u64 last = 0;
      for (u64 i = 0; i < plan.blocks(); i++) {
        const u64 number = plan.block(level, i);
        CHECK(number < block_count(level) && (i == 0 || number > last), "blocks rise");
        last = number;
        const Box block = block_box(level, number), needed = plan.needed(i);
        for (size_t a = 0; a < axes; a++)
          CHECK(needed.size[a] == 0 || (needed.low[a] >= block.low[a] && needed.low[a] + needed.size[a] <= block.low[a] + block.size[a]));
      }
    }
  }
}
