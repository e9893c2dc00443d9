// Whether neighbours say anything about numbers, as a sample tells: compressing noise in vain would take several times as long.
#include "encoder/represent/predictability.h"

#include <cmath>

#include "unit.h"

using namespace unit;

// How many of `arrays` arrays of noise plus `smoothness` times a wave are called hopeless.
static u64 hopeless_arrays(u64 arrays, u64 elements, double smoothness) {
  u64 found = 0;
  for (u64 seed = 0; seed < arrays; seed++) {
    Random random(seed);
    std::vector<float> numbers(elements);
    for (u64 i = 0; i < elements; i++) {
      double normal = -6;  // the sum of twelve
      for (int k = 0; k < 12; k++) normal += double(random.below(1 << 20)) / (1 << 20);
      numbers[i] = float(normal + smoothness * std::sin(double(i) / 30));
    }
    stz_layout layout{};
    layout.dtype = STZ_F32;
    layout.rank = 1;
    layout.shape[0] = elements;
    const stz::Array array{layout, reinterpret_cast<const u8*>(numbers.data())};
    found += stz::predictability_of(array).hopeless;
  }
  return found;
}

// One sample of 512 misses an eighth of them.
TEST(large_arrays_of_noise_are_hopeless) {
  const u64 arrays = turns(100), found = hopeless_arrays(arrays, 1 << 14, 0);
  CHECK(found + arrays / 50 >= arrays, "%d of %d", int(found), int(arrays));
}

TEST(smooth_arrays_are_not) {
  const u64 found = hopeless_arrays(turns(40), 1 << 14, 4);
  CHECK(found == 0, "%d", int(found));
}
