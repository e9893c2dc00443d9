// Masks of blocks: the kind of every sample comes back, and the bits of those that have their own.
#include "encoder/write/choose_mask_form.h"

#include <algorithm>
#include <map>

#include "unit.h"

using namespace unit;

namespace {

constexpr int width = 32;
constexpr u32 all_kinds = (1u << special_values) - 2;  // but "valid"
u64 bits_of(u64 index) { return index * 0x9e3779b9 & 0xffffffff; }

Hierarchy random_hierarchy(Random& random) {
  Index n;
  for (i64& extent : n) extent = random.chance(0.3) ? 1 : random.between(2, 14);
  std::array<int, axes> offset{};
  for (int& o : offset) o = random.chance(0.2) ? 1 : 0;
  if (!(n[0] > 2 || n[1] > 2 || n[2] > 2 || n[3] > 2)) n[3] = 19;
  Hierarchy h = make_hierarchy(n, 1, without_unsplit_levels(n, offset));
  return h;
}

std::vector<u8> random_kinds(Random& random, const Level& level) {
  std::vector<u8> kinds(level.samples());
  const double share = random.chance(0.2) ? 1 : random.chance(0.2) ? 0 : random.chance(0.5) ? 0.02 : 0.5;
  const u64 pattern = random.below(4);
  const u8 usual = u8(1 + random.below(special_values - 1));
  u64 number = 0;
  for (u8& kind : kinds) {
    const u64 x = number % u64(level.n[3]), line = number / u64(level.n[3]);
    const bool masked = pattern == 0   ? random.chance(share)
                        : pattern == 1 ? x >= 3 && line >= 2          // a box
                        : pattern == 2 ? (x + line) % 2 == 0          // a checkerboard
                                       : x > line % u64(level.n[3]);  // a slope
    if (masked) kind = random.chance(0.8) ? usual : u8(1 + random.below(special_values - 1));
    number++;
  }
  return kinds;
}

// Calls f(offset in the class arrays, number of the sample on the level) for all samples of all classes of a block but 0.
template <class F>
void for_class_samples(const BlockGeometry& g, const Level& level, F f) {
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    auto on_level = [&](i64 i, size_t a) { return g.box.low[a] + (level.split[a] ? 2 * i + (cls >> a & 1) : i); };
    for_rows({}, {g.count(cls, 0), g.count(cls, 1), g.count(cls, 2), 1}, [&](i64 i, i64 j, i64 k) {
      const i64 row = (on_level(i, 0) * level.n[1] + on_level(j, 1)) * level.n[2] + on_level(k, 2);
      for (i64 x = 0; x < g.count(cls, 3); x++)
        f(size_t(g.start(g.bytes, cls) + g.bytes.at(i, j, k) + x), size_t(row * level.n[3] + on_level(x, 3)));
    });
  }
}

// The kinds of a block in class arrays: class 0 with its halo, and the other classes if `all`.
std::vector<u8> class_arrays(const BlockGeometry& g, const Level& level, const Level& coarser, const std::vector<u8>& kinds, bool all) {
  std::vector<u8> arrays(size_t(g.total(g.bytes)), u8(77));
  const GridPart<const u8> grid = whole_grid(kinds.data(), level);
  std::vector<u8> coarse(coarser.samples());
  const GridPart<u8> coarse_grid = whole_grid(coarse.data(), coarser);
  auto finer = [&](i64 i, size_t a) { return level.split[a] ? 2 * i : i; };
  for_rows({}, {coarser.n[0], coarser.n[1], coarser.n[2], 1}, [&](i64 i, i64 j, i64 k) {
    for (i64 x = 0; x < coarser.n[3]; x++) *coarse_grid.at(i, j, k, x) = *grid.at(finer(i, 0), finer(j, 1), finer(k, 2), finer(x, 3));
  });
  load_coarse_bytes(g, coarse_grid, arrays.data());
  if (all) for_class_samples(g, level, [&](size_t at, size_t number) { arrays[at] = kinds[number]; });
  return arrays;
}

struct Case {
  Hierarchy h;
  size_t l;
  std::vector<u8> kinds;
};

Case random_case(Random& random) {
  Case c{random_hierarchy(random), 0, {}};
  do c.l = random.below(c.h.level.size() - 1);
  while (c.h.level[c.l].split_mask() == 0);
  for (Level& level : c.h.level) {
    std::array<int, axes> log2_extent;
    for (int& e : log2_extent) e = 1 + int(random.below(4));
    set_block(level, log2_extent);
  }
  c.kinds = random_kinds(random, c.h.level[c.l]);
  return c;
}

// Any form that the masks of a block can be written in.
MaskForm random_form(Random& random, const Case& c, const BlockGeometry& g, const std::vector<u8>& arrays) {
  if (random.chance(0.4)) return choose_mask_form(g, arrays.data());
  u32 kinds = 0;
  for_class_samples(g, c.h.level[c.l], [&](size_t at, size_t) { kinds |= arrays[at] ? 1u << arrays[at] : 0; });
  MaskForm form{random.chance(0.6), special_none};
  if (kinds && !(kinds & (kinds - 1)) && kinds != 1u << special_literal) form.kind = u8(__builtin_ctz(kinds));
  return form;
}

Bytes written(const Case& c, const BlockGeometry& g, std::vector<u8>& arrays, const MaskForm& form) {
  BinaryEncoder out;
  MaskWriter<u64 (*)(u64)> writer{out, bits_of, width};
  code_block_mask(writer, g, level_map(c.h, c.l, 0), arrays.data(), form);
  return out.finish();
}

}  // namespace

TEST(kinds_and_bits_of_every_block_come_back) {
  Random random(1);
  size_t own_bits = 0;
  for (int turn = 0; turn < 300; turn++) {
    const Case c = random_case(random);
    const Level &level = c.h.level[c.l], &coarser = c.h.level[c.l + 1];
    for (u64 b = 0; b < block_count(level); b++) {
      const BlockGeometry g = block_geometry(level, block_box(level, b), stencil_standard);
      std::vector<u8> original = class_arrays(g, level, coarser, c.kinds, true), read = class_arrays(g, level, coarser, c.kinds, false);
      AtPageEnd stream(written(c, g, original, random_form(random, c, g, original)));
      BinaryDecoder in(stream.begin(), stream.size());
      std::vector<LiteralElement> literals;
      MaskReader reader{in, literals, width, all_kinds};
      code_block_mask(reader, g, level_map(c.h, c.l, 0), read.data(), MaskForm{});
      size_t with_own_bits = 0;
      for_class_samples(g, level, [&](size_t at, size_t number) {
        CHECK(read[at] == c.kinds[number], "case %d, block %llu", turn, (unsigned long long)b);
        if (read[at] != special_literal) return;
        const u64 index = level_zero_index(level, level_map(c.h, c.l, 0), number);
        CHECK(with_own_bits < literals.size() && literals[with_own_bits].index == index && literals[with_own_bits].bits == bits_of(index));
        with_own_bits++;
      });
      CHECK(literals.size() == with_own_bits);
      own_bits += with_own_bits;
    }
  }
  CHECK(own_bits > 1000);
}

TEST(large_areas_take_few_bytes) {
  const Level level{{1, 1, 64, 64}, {false, false, true, true}, {1, 1, 64, 64}}, coarser{{1, 1, 32, 32}, {}, {1, 1, 32, 32}};
  Case c{make_hierarchy(level.n, 1, {}), 0, std::vector<u8>(level.samples(), special_nan)};
  const BlockGeometry g = block_geometry(level, {{}, level.n}, stencil_standard);
  for (size_t cut : {size_t(0), size_t(30 * 64), size_t(64 * 64)}) {
    std::fill(c.kinds.begin(), c.kinds.begin() + std::ptrdiff_t(cut), u8(special_none));
    std::vector<u8> arrays = class_arrays(g, level, coarser, c.kinds, true);
    const size_t size = written(c, g, arrays, choose_mask_form(g, arrays.data())).size();
    CHECK(size < (cut % 4096 ? 60u : 30u), "%zu bytes for 3072 samples", size);
  }
}

TEST(scattered_samples_take_what_they_tell) {
  Random random(3);
  const Level level{{1, 32, 64, 64}, {false, true, true, true}, {1, 32, 64, 64}}, coarser{{1, 16, 32, 32}, {}, {1, 16, 32, 32}};
  Case c{make_hierarchy(level.n, 1, {}), 0, std::vector<u8>(level.samples())};
  const BlockGeometry g = block_geometry(level, {{}, level.n}, stencil_standard);
  for (u8& kind : c.kinds) kind = random.chance(0.3) ? special_nan : special_none;
  std::vector<u8> arrays = class_arrays(g, level, coarser, c.kinds, true);
  const MaskForm form = choose_mask_form(g, arrays.data());
  CHECK(form.scattered && form.kind == special_nan);
  const double entropy = 0.8813 / 8 * double(level.samples() - coarser.samples());
  const size_t size = written(c, g, arrays, form).size(), as_regions = written(c, g, arrays, MaskForm{}).size();
  CHECK(double(size) < 1.01 * entropy && size < as_regions, "%zu bytes, %zu as regions, %.0f at least", size, as_regions, entropy);
  // columns of masked samples are no scattered ones
  for (size_t s = 0; s < c.kinds.size(); s++) c.kinds[s] = c.kinds[s % 4096];
  arrays = class_arrays(g, level, coarser, c.kinds, true);
  CHECK(!choose_mask_form(g, arrays.data()).scattered);
}

TEST(damaged_masks_have_possible_kinds_or_fail) {
  Random random(2);
  for (int turn = 0; turn < 2000; turn++) {
    const Case c = random_case(random);
    u32 possible = 0;
    for (u8 kind : c.kinds) possible |= kind == special_none ? 0 : 1u << kind;
    const Level &level = c.h.level[c.l], &coarser = c.h.level[c.l + 1];
    const BlockGeometry g = block_geometry(level, block_box(level, random.below(block_count(level))), stencil_standard);
    std::vector<u8> arrays = class_arrays(g, level, coarser, c.kinds, true);
    const Bytes whole = written(c, g, arrays, random_form(random, c, g, arrays));
    AtPageEnd damaged(whole.data(), random.chance(0.5) ? whole.size() : random.below(whole.size() + 1));
    for (u64 k = random.below(4); k > 0 && damaged.size(); k--) damaged.begin()[random.below(damaged.size())] = u8(random.bits());
    std::vector<u8> read = class_arrays(g, level, coarser, c.kinds, false);
    std::vector<LiteralElement> literals;
    const int code = failure_of([&] {
      BinaryDecoder in(damaged.begin(), damaged.size());
      MaskReader reader{in, literals, width, possible};
      code_block_mask(reader, g, level_map(c.h, c.l, 0), read.data(), MaskForm{});
      for_class_samples(g, level, [&](size_t at, size_t) { CHECK(read[at] == special_none || possible >> read[at] & 1, "%d", read[at]); });
    });
    CHECK(code == 0 || is_damage(code), "%d", code);
  }
}
