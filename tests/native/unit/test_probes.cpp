// The samples by which a chunk is recognised: where they lie, and which of them tell something.
#include "recognition/probes.h"

#include <algorithm>
#include <set>

#include "format/convert.h"
#include "unit.h"

using namespace unit;
using recognition::Probes;
using recognition::take_probes;

static stz_layout layout_of(i32 dtype, const std::vector<u64>& shape) {
  stz_layout layout{};
  layout.dtype = dtype;
  layout.rank = i32(shape.size());
  std::copy(shape.begin(), shape.end(), layout.shape);
  return layout;
}

static Bytes random_samples(const stz_layout& layout, u64 seed) {
  Random random(seed);
  Bytes samples(size_t(array_bytes(layout)));
  for (u8& each : samples) each = u8(random.below(256));
  return samples;
}

// The numbers of the hashes that differ.
static std::vector<size_t> difference(const Probes& a, const Probes& b) {
  CHECK(a.layout == b.layout && a.singles == b.singles && a.hashes.size() == b.hashes.size());
  std::vector<size_t> found;
  for (size_t i = 0; i < a.hashes.size(); ++i)
    if (a.hashes[i] != b.hashes[i]) found.push_back(i);
  return found;
}

// Which samples each probe consists of: those with which it changes.
static std::vector<std::vector<u64>> samples_of_probes(const stz_layout& layout, Bytes samples) {
  const size_t width = component_size(layout.dtype);
  const Probes before = take_probes(layout, samples.data());
  std::vector<std::vector<u64>> of(before.hashes.size());
  for (u64 i = 0; i < samples.size() / width; ++i) {
    for (size_t k = 0; k < width; ++k) samples[size_t(i) * width + k] ^= 0x5b;
    for (const size_t probe : difference(before, take_probes(layout, samples.data()))) of[probe].push_back(i);
    for (size_t k = 0; k < width; ++k) samples[size_t(i) * width + k] ^= 0x5b;
  }
  return of;
}

static void check_places(i32 dtype, const std::vector<u64>& shape) {
  const stz_layout layout = layout_of(dtype, shape);
  const u64 samples = element_count(layout) * u64(components(dtype));
  const Bytes data = random_samples(layout, samples);
  const auto places = samples_of_probes(layout, data);
  const size_t singles = take_probes(layout, data.data()).singles, runs = places.size() - singles;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_single = i < singles;
    const u64 number = is_single ? i : i - singles, count = is_single ? singles : runs;
    const u64 least = is_single ? 1 : 4, begin = number * samples / count, end = (number + 1) * samples / count;
    CHECK(places[i].size() >= least, "%d samples of dtype %d: probe %d of %d", int(samples), dtype, int(i), int(places.size()));
    CHECK(places[i].front() >= begin && places[i].back() < end && places[i].back() - places[i].front() + 1 == places[i].size());
    CHECK(is_single ? places[i].size() == 1 : places[i].size() * component_size(dtype) >= 16);
  }
}

// Samples of one layout are no candidates for another: such streams cannot be compared.
TEST(every_layout_has_a_hash_of_its_own) {
  std::set<u64> hashes;
  size_t count = 0;
  for (i32 dtype = STZ_F16; dtype <= STZ_C128; ++dtype)
    for (const i32 order : {STZ_LITTLE, STZ_BIG})
      for (const std::vector<u64>& shape : {std::vector<u64>{}, {1}, {2}, {3}, {1, 2}, {2, 1}, {3, 3}, {64, 64}, {1, 1, 1}, {64, 64, 64}}) {
        stz_layout layout = layout_of(dtype, shape);
        layout.byte_order = order;
        hashes.insert(recognition::layout_hash(layout));
        ++count;
      }
  CHECK(hashes.size() == count, "%zu of %zu", hashes.size(), count);
}

TEST(each_probe_lies_in_its_own_part_of_the_chunk) {
  for (const i32 dtype : {STZ_U8, STZ_F16, STZ_F32, STZ_F64, STZ_C64, STZ_C128})
    for (const std::vector<u64>& shape :
         {std::vector<u64>{1}, {2, 3}, {63}, {64}, {65}, {255}, {256}, {257}, {7, 11, 13}, {2100}, {1, 1, 1, 3000}})
      check_places(dtype, shape);
}

// What lies behind the chunk cannot be read.
TEST(no_probe_lies_behind_the_chunk) {
  Random random(1);
  for (const i32 dtype : {STZ_I8, STZ_U16, STZ_I32, STZ_F64, STZ_C64, STZ_C128})
    for (int turn = 0; turn < 60; ++turn) {
      const stz_layout layout = layout_of(dtype, {1 + random.below(turn % 10 == 0 ? 60000 : 900), 1 + random.below(5)});
      AtPageEnd samples(random_samples(layout, u64(turn)));
      CHECK(!take_probes(layout, samples.begin()).hashes.empty());
    }
}

TEST(every_sample_of_a_small_chunk_is_a_probe) {
  for (const u64 samples : {1, 2, 17, 200, 256})
    for (const i32 dtype : {STZ_U8, STZ_F16, STZ_F32, STZ_F64}) {
      const stz_layout layout = layout_of(dtype, {samples});
      const auto places = samples_of_probes(layout, random_samples(layout, samples));
      for (u64 i = 0; i < samples; ++i) CHECK(places[size_t(i)] == std::vector<u64>{i});
    }
}

// However large a chunk is, a part of it that is a 64th is met.
TEST(every_large_part_has_probes) {
  for (const u64 samples : {1000, 5000, 40000, 300000}) {
    const stz_layout layout = layout_of(STZ_F32, {samples});
    Bytes data = random_samples(layout, 3);
    const Probes before = take_probes(layout, data.data());
    CHECK(before.hashes.size() <= 8192);
    for (u64 part = 0; part < 64; ++part) {
      Bytes changed = data;
      for (u64 i = part * samples / 64; i < (part + 1) * samples / 64; ++i) changed[size_t(4 * i + 1)] ^= 1;
      CHECK(!difference(before, take_probes(layout, changed.data())).empty(), "%d samples, part %d", int(samples), int(part));
    }
  }
}

TEST(layouts_differ_in_type_byte_order_and_shape) {
  stz_layout swapped_order = layout_of(STZ_F32, {6, 4});
  swapped_order.byte_order = 1;
  const std::vector<stz_layout> layouts = {layout_of(STZ_F32, {6, 4}),  layout_of(STZ_F32, {4, 6}), layout_of(STZ_F32, {24}),
                                           layout_of(STZ_F32, {1, 24}), layout_of(STZ_I32, {6, 4}), swapped_order};
  std::set<u64> hashes;
  for (const stz_layout& layout : layouts) hashes.insert(recognition::layout_hash(layout));
  CHECK(hashes.size() == layouts.size());
}

static Probes probes_of(const std::vector<float>& samples) { return take_probes(layout_of(STZ_F32, {samples.size()}), samples.data()); }

TEST(a_constant_chunk_has_nothing_that_tells) {
  for (const size_t size : {5, 300, 5000}) {
    Probes probes = probes_of(std::vector<float>(size, 7.5f));
    CHECK(probes.leave_out_frequent() == 0, "%zu samples", size);
  }
}

TEST(a_frequent_value_tells_nothing_and_others_do) {
  std::vector<float> samples(4000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = i % 3 == 0 ? 0.f : float(i);
  Probes probes = probes_of(samples);
  const std::vector<u32> before = probes.hashes;
  const u32 zero = probes_of({0.f}).hashes[0];
  const size_t zeros = size_t(std::count(before.begin(), before.begin() + i64(probes.singles), zero));
  CHECK(zeros > probes.singles / 4 && zeros < probes.singles / 2);
  const size_t left = probes.leave_out_frequent();
  CHECK(left == before.size() - zeros);
  for (size_t i = 0; i < before.size(); ++i) CHECK(probes.hashes[i] == (i < probes.singles && before[i] == zero ? 0 : before[i]));
}

// Not a value that a few samples have.
TEST(a_rare_value_tells_something) {
  std::vector<float> samples(4000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = float(i / 8);
  Probes probes = probes_of(samples);
  probes.leave_out_frequent();
  CHECK(std::count(probes.hashes.begin(), probes.hashes.begin() + i64(probes.singles), 0u) == 0);
}

TEST(a_run_of_equal_samples_tells_nothing) {
  for (const bool differs : {false, true}) {
    std::vector<float> samples(4000);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = float(i / 500) + (differs ? float(i % 7) / 16 : 0);
    const Probes probes = probes_of(samples);
    const size_t runs = probes.hashes.size() - probes.singles;
    const size_t silent = size_t(std::count(probes.hashes.begin() + i64(probes.singles), probes.hashes.end(), 0u));
    CHECK(runs >= 32 && (differs ? silent == 0 : silent >= runs - 8));
  }
}
