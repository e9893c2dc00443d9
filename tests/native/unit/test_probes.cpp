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

static Probes probes_of(const std::vector<float>& samples) { return take_probes(layout_of(STZ_F32, {samples.size()}), samples.data()); }

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
