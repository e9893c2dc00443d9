// Arrays that were changed in part: what keeps its bits keeps them, what is new gets its bound, over programs of many rewrites.
#include "rewrite/rewrite.h"

#include <cmath>

#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/frame.h"
#include "grid/box_rows.h"
#include "rewrite/boxes.h"
#include "unit.h"

using namespace unit;

namespace {

stz_layout layout_of(i32 dtype, std::vector<u64> shape) {
  stz_layout layout{};
  layout.dtype = dtype;
  layout.rank = i32(shape.size());
  std::copy(shape.begin(), shape.end(), layout.shape);
  return layout;
}

std::vector<u64> random_shape(Random& random, u64 most) {
  std::vector<u64> shape(1 + random.below(4));
  for (u64& extent : shape) extent = 1 + random.below(most >> shape.size());
  return shape;
}

stz_options absolute(double bound) {
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = bound;
  return options;
}

const u8* bytes_of(const std::vector<float>& array) { return reinterpret_cast<const u8*>(array.data()); }

std::vector<float> decoded(const Bytes& stream, size_t elements) {
  std::vector<float> array(elements);
  decode(stream.data(), stream.size(), reinterpret_cast<u8*>(array.data()), elements * sizeof(float), 1);
  return array;
}

bool same_bits(float a, float b) { return bit_cast_to<u32>(a) == bit_cast_to<u32>(b); }

float random_value(Random& random) {
  if (random.chance(0.02)) return random.below(2) ? std::nanf("") : INFINITY;
  return float(random.signed_magnitude(20)) / 1024;
}

// Writes random values to some elements of `array` and to the same of `written`.
void write_some(Random& random, const stz_layout& layout, std::vector<float>& array, std::vector<float>& written) {
  const double share = random.chance(0.3) ? 0.001 : random.chance(0.5) ? 0.3 : 1;
  u64 origin[STZ_MAX_RANK], extent[STZ_MAX_RANK];
  for (int a = 0; a < layout.rank; a++) {
    origin[a] = random.below(layout.shape[a]);
    extent[a] = 1 + random.below(layout.shape[a] - origin[a]);
  }
  for_box_rows(layout, origin, extent, [&](u64 first, u64, u64 count) {
    for (u64 i = first; i < first + count; i++)
      if (random.chance(share)) array[size_t(i)] = written[size_t(i)] = random_value(random);
  });
}

// The program: compress, then decode, write some elements and compress again, many times.
void run_program(u64 seed, int rewrites) {
  Random random(seed);
  const stz_layout layout = layout_of(STZ_F32, random_shape(random, 200));
  const size_t elements = size_t(element_count(layout));
  const double bound = std::ldexp(1, int(random.between(-8, 2)));
  std::vector<float> written(elements), array;
  for (float& value : written) value = random_value(random);
  Bytes stream = encode(layout, bytes_of(written), absolute(bound));
  for (int step = 0; step < rewrites; step++) {
    const std::vector<float> before = decoded(stream, elements);
    array = before;
    write_some(random, layout, array, written);
    const Bytes next = rewrite(layout, bytes_of(array), absolute(bound), {{stream.data(), stream.size()}});
    CHECK(next.size() <= elements * sizeof(float) + 64);
    const std::vector<float> after = decoded(next, elements);
    const Header old = read_header(stream.data(), stream.size());
    const bool was_exact = !old.bound_used && (old.form == Form::raw || old.form == Form::constant || old.mode == STZ_LOSSLESS);
    for (size_t i = 0; i < elements; i++) {
      if (!was_exact && same_bits(array[i], before[i])) CHECK(same_bits(after[i], before[i]), "seed %d, step %d", int(seed), step);
      const bool within = same_bits(after[i], written[i]) || std::fabs(double(after[i]) - double(written[i])) <= bound;
      CHECK(within, "seed %d, step %d: %g and %g", int(seed), step, double(after[i]), double(written[i]));
    }
    stream = next;
  }
}

}  // namespace

TEST(programs_of_writes) {
  for (u64 seed = 0; seed < 150; seed++) run_program(seed, 8);
}

TEST(whole_planes_that_were_written_again_leave_nothing_behind) {
  const stz_layout layout = layout_of(STZ_F32, {8, 32, 32});
  Random random(3);
  std::vector<float> array(8 * 32 * 32);
  for (float& value : array) value = float(random.signed_magnitude(20)) / 1024;
  Bytes stream = encode(layout, bytes_of(array), absolute(0.01));
  size_t after_first_round = 0;
  for (int round = 0; round < 6; round++) {
    for (size_t plane = 0; plane < 8; plane++) {
      array = decoded(stream, array.size());
      for (size_t i = 0; i < 32 * 32; i++) array[plane * 32 * 32 + i] = float(random.signed_magnitude(20)) / 1024;
      stream = rewrite(layout, bytes_of(array), absolute(0.01), {{stream.data(), stream.size()}});
    }
    if (round == 0) after_first_round = stream.size();
  }
  CHECK(stream.size() < after_first_round + after_first_round / 20, "%zu bytes, then %zu", after_first_round, stream.size());
}

TEST(an_exact_stream_that_used_its_bound_stays_exact) {
  const stz_layout layout = layout_of(STZ_F32, {30, 30});
  Random random(5);
  std::vector<float> array(900);
  for (float& value : array) value = float(random.signed_magnitude(20)) / 1024;
  stz_options exact = STZ_OPTIONS_INIT;
  exact.bound_used = 1;
  const Bytes stream = encode(layout, bytes_of(array), exact);
  CHECK(read_header(stream.data(), stream.size()).bound_used);
  std::vector<float> changed = array;
  changed[0] += 50;
  const Bytes next = rewrite(layout, bytes_of(changed), absolute(1), {{stream.data(), stream.size()}});
  const std::vector<float> after = decoded(next, array.size());
  for (size_t i = 1; i < array.size(); i++) CHECK(same_bits(after[i], array[i]));
  CHECK(std::fabs(double(after[0]) - double(changed[0])) <= 1);
}

TEST(an_accumulated_bound_stays_finite) {
  const stz_layout layout = layout_of(STZ_F32, {30, 30});
  std::vector<float> array(900, 1);
  array[5] = 2;
  stz_options options = absolute(1e308);
  options.prior_bound = 1.5e308;
  const Bytes stream = encode(layout, bytes_of(array), options);
  CHECK(read_header(stream.data(), stream.size()).accumulated_bound == __DBL_MAX__);
}

TEST(boxes_hold_every_changed_element_once) {
  Random random(11);
  for (int trial = 0; trial < 300; trial++) {
    const stz_layout layout = layout_of(STZ_F32, random_shape(random, 120));
    const u64 elements = element_count(layout);
    Changes changes;
    changes.state.resize(size_t(elements));
    memset(changes.state.data(), int(Change::kept), size_t(elements));
    for (u64 k = 1 + random.below(20); k > 0; k--) changes.state[size_t(random.below(elements))] = u8(Change::fresh);
    const size_t most = 1 + size_t(random.below(8));
    const std::vector<ChangedBox> boxes = boxes_of(layout, changes, Change::fresh, most);
    CHECK(!boxes.empty() && boxes.size() <= most);
    std::vector<int> covered(size_t(elements), 0);
    for (const ChangedBox& box : boxes) {
      u64 wanted = 0, others = 0;
      for_box_rows(layout, box.origin, box.extent, [&](u64 first, u64, u64 count) {
        for (u64 i = first; i < first + count; i++) {
          covered[size_t(i)]++;
          wanted += changes.state[size_t(i)] == u8(Change::fresh);
          others += changes.state[size_t(i)] == u8(Change::kept);
        }
      });
      CHECK(wanted == box.wanted && others == box.others);
    }
    for (size_t i = 0; i < covered.size(); i++) CHECK(covered[i] == (changes.state[i] == u8(Change::fresh)) || (covered[i] == 1));
  }
}
