// Enhancement: samples in units, the filter over them, its result subtracted from samples.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

template <class T>
const EnhancementKernels<T>& enhancement_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.enhancement32;
  else
    return k.enhancement64;
}

template <class T>
void fill_samples(Random& random, T* x, size_t n) {
  const double size = std::ldexp(1.0, int(random.between(-20, 20)));
  for (size_t i = 0; i < n; i++) x[i] = T(size * random.normal());
  for (size_t i = 0; i < n; i++)
    if (random.below(40) == 0) x[i] = random.below(2) ? T(-0.0) : T(1e30);
}

template <class T>
void check_to_units(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++) {
    const int n = length_of(l);
    const double inverse = std::ldexp(1 + random.real(), int(random.between(-10, 30)));
    note("n %d, inverse %g", n, inverse);
    Guarded<T> x(random, size_t(n));
    Guarded<i16> units(random, size_t(n));
    fill_samples(random, x.data(), x.size());
    remember(x, units);
    enhancement_of<T>(tested).to_units(x.data(), n, inverse, units.data());
    x.unchanged("x");
    units.changed_only("units", 0, n);
    std::vector<i16> expected(size_t(n) + 1);
    enhancement_of<T>(reference).to_units(x.data(), n, inverse, expected.data());
    same("units", units.data(), expected.data(), size_t(n));
  }
}

template <class T>
void check_subtract(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++) {
    const int n = length_of(l);
    const T unit = T(std::ldexp(1 + random.real(), int(random.between(-30, 10))));
    note("n %d, unit %g", n, double(unit));
    Guarded<T> x(random, size_t(n));
    Guarded<i16> units(random, size_t(n));
    fill_samples(random, x.data(), x.size());
    for (int i = 0; i < n; i++) units[size_t(i)] = i16(random.between(-512, 512));
    std::vector<T> expected(x.data(), x.data() + n);
    expected.push_back(0);
    remember(x, units);
    enhancement_of<T>(tested).subtract(x.data(), units.data(), n, unit);
    units.unchanged("units");
    x.changed_only("x", 0, n);
    enhancement_of<T>(reference).subtract(expected.data(), units.data(), n, unit);
    same("x", x.data(), expected.data(), size_t(n));
  }
}

void fill_units(Random& random, i16* units, size_t n) {
  const int bits = int(random.between(1, 16));
  for (size_t i = 0; i < n; i++) units[i] = i16(u16(random.next()) >> (16 - bits));
}

void check_enhancement(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (const bool masked : {false, true}) {
      const int n = length_of(l), directions = int(random.between(1, 16));
      const size_t reach = size_t(random.between(1, 60));
      const i16 limit = i16(random.between(1, 512));
      note("n %d, %d directions, reach %zu, limit %d%s", n, directions, reach, limit, masked ? ", masked" : "");
      Guarded<i16> units(random, size_t(n) + 2 * reach, row_slack, row_slack), negative(random, size_t(n), 0, row_slack),
          valid(random, size_t(n) + 2 * reach, row_slack, row_slack);
      fill_units(random, units.data(), units.size());
      for (size_t i = 0; i < valid.size(); i++) valid[i] = random.below(4) ? i16(-1) : i16(0);
      std::vector<std::ptrdiff_t> offset;
      std::vector<u32> weights;
      for (int d = 0; d < directions; d++) {
        offset.push_back(i64(1 + random.below(reach)));
        for (int c = 0; c < 3; c++)
          weights.push_back(u32(u16(random.between(-127, 127) * 128)) | u32(u16(random.between(-127, 127) << random.below(8))) << 16);
      }
      const EnhancementRow row{
          units.data() + reach, masked ? valid.data() + reach : nullptr, offset.data(), weights.data(), directions, limit};
      remember(units, negative, valid);
      tested.enhancement(row, n, negative.data());
      units.unchanged("units");
      valid.unchanged("valid");
      negative.changed_only("negative", 0, n + row_slack);
      std::vector<i16> expected(size_t(n) + 1);
      reference.enhancement(row, n, expected.data());
      same("negative", negative.data(), expected.data(), size_t(n));
    }
}

}  // namespace

void add_enhancement(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(enhancement32.to_units), check_to_units<float>});
  entries.push_back({CHECK_SLOT(enhancement32.subtract), check_subtract<float>});
  entries.push_back({CHECK_SLOT(enhancement64.to_units), check_to_units<double>});
  entries.push_back({CHECK_SLOT(enhancement64.subtract), check_subtract<double>});
  entries.push_back({CHECK_SLOT(enhancement), check_enhancement});
}

}  // namespace check
