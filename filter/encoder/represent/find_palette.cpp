#include "encoder/represent/find_palette.h"

#include <algorithm>
#include <limits>

#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "coding/quantize.h"
#include "coding/short_floats.h"
#include "format/convert.h"
#include "format/palette.h"

namespace stz {
namespace {

constexpr u64 most_values = max_palette_count - 1;  // one more may be added
constexpr u64 least_samples_per_value = 2;
constexpr u64 fewest_palette_probes = 512, most_probes = 4096, samples_per_probe = 256;
constexpr double least_bits_saved = 0.5;  // per sample, as estimated from some samples

// The bits of the element of a sample.
template <class S>
struct BitsOfSample {
  const i32 dtype;
  const bool floating = is_floating(dtype), is_short = is_short_float(dtype);
  const FloatFormat format = float_format(dtype);
  const u64 mask = ~u64(0) >> (64 - 8 * component_size(dtype)), flip = dtype == STZ_U64 ? u64(1) << 63 : 0;
  u64 operator()(S v) const {
    if constexpr (std::is_floating_point_v<S>)
      if (floating) return is_short ? short_from_double(format, double(v)) : sample_bits(v);
    return (u64(i64(v)) ^ flip) & mask;
  }
};

// A hash table (linear probing) of distinct values with a number each: its count, later its rank.
class DistinctValues {
 public:
  struct Value {
    u64 bits, number;
  };
  explicit DistinctValues(u64 expected) { reserve(expected); }
  u64 size() const { return size_; }
  void count(u64 bits) {
    if (2 * size_ >= slots_.size()) reserve(2 * size_);
    Value& value = find(bits);
    size_ += value.number == 0;
    value.bits = bits;
    value.number++;
  }
  u64 rank(u64 bits) const { return const_cast<DistinctValues*>(this)->find(bits).number - 1; }
  std::vector<Value> sorted(const Places& places) const {
    std::vector<Value> values;
    values.reserve(size_t(size_));
    for (const Value& value : slots_)
      if (value.number) values.push_back(value);
    std::sort(values.begin(), values.end(), [&](const Value& a, const Value& b) { return places.of(a.bits) < places.of(b.bits); });
    return values;
  }
  // Replaces counts by ranks.
  void set_ranks(const std::vector<Value>& sorted) {
    for (size_t i = 0; i < sorted.size(); i++) find(sorted[i].bits).number = i + 1;
  }

 private:
  Value& find(u64 bits) {
    size_t at = size_t(bits * 0x9e3779b97f4a7c15u >> shift_);  // Fibonacci hashing
    while (slots_[at].number && slots_[at].bits != bits) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void reserve(u64 values) {
    const int log = ceil_log2(std::max<u64>(values, 16)) + 1;
    std::vector<Value> old(size_t(1) << log);
    std::swap(old, slots_);
    shift_ = 64 - log;
    for (const Value& value : old)
      if (value.number) find(value.bits) = value;
  }
  std::vector<Value> slots_;  // number 0: free
  u64 size_ = 0;
  int shift_ = 0;
};

// Estimated bits that ranks save, compared with a representation of resolution `others`; and bits of the table.
struct Estimate {
  double saved = 0, table = 0;
};

Estimate estimate(i32 dtype, const std::vector<DistinctValues::Value>& values, const Resolution& others) {
  Estimate total;
  if (values.size() < 2) return total;
  const Places places(dtype);
  const bool floating = is_floating(dtype);
  u64 any = 0;
  for (const auto& value : values) any |= value.bits;
  const double place_step = any ? double(u64(1) << __builtin_ctzll(any)) : 1;
  auto number = [&](u64 bits) { return floating ? number_of(dtype, bits) : double(places.of(bits)); };
  for (size_t i = 0; i < values.size(); i++) {
    const u64 below = values[i ? i - 1 : 0].bits, above = values[std::min(i + 1, values.size() - 1)].bits;
    const double neighbours = i && i + 1 < values.size() ? 2 : 1;
    const double in_table = double(places.of(above) - places.of(below)) / neighbours / place_step;
    const double value = number(values[i].bits), step = std::max(others.step, others.relative * __builtin_fabs(value));
    double ratio = floating ? in_table : std::numeric_limits<double>::max();
    if (step > 0) ratio = std::min(ratio, (number(above) / neighbours - number(below) / neighbours) / step);
    total.saved += double(values[i].number) * rough_log2(std::max(ratio, 1e-9));
    total.table += rough_log2(std::max(in_table, 1.0)) + 2;
  }
  return total;
}

// The size in bits of the table as stored. If values form a grid it is a small part of the estimate.
double bits_of_table(i32 dtype, const std::vector<DistinctValues::Value>& sorted) {
  std::vector<u64> bits;
  for (const auto& value : sorted) bits.push_back(value.bits);
  return 8 * double(write_palette(dtype, bits).size());
}

// A lower bound for the number of distinct values, from how many were met once and twice (Chao 1984).
double least_number_of_values(const std::vector<DistinctValues::Value>& met) {
  double once = 0, twice = 0;
  for (const auto& value : met) {
    once += value.number == 1;
    twice += value.number == 2;
  }
  return double(met.size()) + once * (once - 1) / (2 * (twice + 1));
}

// The gap between the largest negative and the smallest positive value may exceed the format's limit. Zero is then added to the values.
void bridge_signs(const Places& places, std::vector<DistinctValues::Value>& values) {
  const u64 zero = places.of(0);
  const auto above = std::find_if(values.begin(), values.end(), [&](const auto& value) { return places.of(value.bits) >= zero; });
  if (above == values.begin() || above == values.end()) return;
  if (places.of(above->bits) - places.of(above[-1].bits) > largest_palette_gap) values.insert(above, {0, 0});
}

// Calls f(bits) for samples that are not masked, until it returns false.
template <class S, class F>
bool for_bits(const BitsOfSample<S>& bits, const S* samples, const u8* specials, u64 n, F f) {
  for (u64 i = 0; i < n; i++)
    if (!(specials && specials[i]) && !f(bits(samples[i]))) return false;
  return true;
}

// Whether some samples suggest that a palette pays. Sets an estimate of the number of samples that are not masked.
template <class S>
bool promising(i32 dtype, const S* samples, const u8* specials, u64 n, const Resolution& others, u64 least_saving, u64& valid) {
  const BitsOfSample<S> bits{dtype};
  const u64 probes = std::min(n, std::clamp(n / samples_per_probe, fewest_palette_probes, most_probes));
  DistinctValues values(probes);
  u64 seed = 1, met = 0;
  for (u64 k = 0; k < probes; k++) {
    const u64 from = n / probes * k, at = from + pseudo_random(seed) % (n / probes);
    if (specials && specials[at]) continue;
    values.count(bits(samples[at]));
    met++;
  }
  if (met < 2) return false;
  valid = u64(double(n) * double(met) / double(probes));
  // With the largest allowed number of values, all equally frequent, twice as many probes would meet a known value.
  const double most = double(std::min(most_values, valid / least_samples_per_value));
  if (double(met - values.size()) * 4 * most < double(met) * double(met)) return false;
  const auto sorted = values.sorted(Places(dtype));
  const double number = least_number_of_values(sorted);
  if (number > most) return false;
  // Values that were not met lie between the others.
  const double saved = estimate(dtype, sorted, others).saved / double(met) - rough_log2(number / double(sorted.size()));
  return saved > least_bits_saved && saved * double(valid) > 8 * double(least_saving);
}

}  // namespace

template <class S>
std::optional<FoundPalette> find_palette(i32 dtype, const S* samples, const u8* specials, u64 n, const Resolution& others,
                                         u64 least_saving) {
  u64 valid = 0;
  if (!promising(dtype, samples, specials, n, others, least_saving, valid)) return {};
  const u64 most = std::min(most_values, valid / least_samples_per_value);  // approximate: `valid` is an estimate
  const BitsOfSample<S> bits{dtype};
  DistinctValues values(1024);
  const bool few = for_bits(bits, samples, specials, n, [&](u64 b) {
    values.count(b);
    return values.size() <= most;
  });
  if (!few) return {};
  const Places places(dtype);
  auto sorted = values.sorted(places);
  const Estimate total = estimate(dtype, sorted, others);
  if (is_floating(dtype)) bridge_signs(places, sorted);
  const auto pays = [&](double table) { return total.saved - table >= 8 * double(least_saving); };
  if (!pays(total.table) && !(pays(0) && pays(bits_of_table(dtype, sorted)))) return {};
  values.set_ranks(sorted);
  FoundPalette found;
  for (const auto& value : sorted) found.bits.push_back(value.bits);
  found.ranks.resize(n);
  float rank = 0;
  for (u64 i = 0; i < n; i++) {
    if (!(specials && specials[i])) rank = float(values.rank(bits(samples[i])));
    found.ranks[i] = rank;
  }
  return found;
}

template std::optional<FoundPalette> find_palette(i32, const float*, const u8*, u64, const Resolution&, u64);
template std::optional<FoundPalette> find_palette(i32, const double*, const u8*, u64, const Resolution&, u64);
template std::optional<FoundPalette> find_palette(i32, const i64*, const u8*, u64, const Resolution&, u64);

}  // namespace stz
