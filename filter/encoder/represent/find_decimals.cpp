#include "encoder/represent/find_decimals.h"

#include <algorithm>

#include "coding/quantize.h"

namespace stz {
namespace {

constexpr u64 decimal_probes = 4000, probes_to_begin = 64;
constexpr u64 probes_per_exception = 64, samples_per_exception = 500;  // at least; an exception takes as much as some dozen samples
constexpr double worth_a_decade = 8;                                   // how much smaller indices of significant digits have to be

// Indices that leave no bit of a number unused are no sign of decimals: every float32 is one of nine digits.
template <class S>
constexpr i64 largest_index = sizeof(S) == 4 ? i64(1) << 24 : i64(1) << 46;

template <class S>
bool reproduces(const Decimals& d, S v, i64& index) {
  index = decimal_index(d, double(v));
  return sample_bits(S(decimal_of(d, double(index)))) == sample_bits(v);
}

// Valid samples, spread evenly.
template <class S>
std::vector<S> probes_of(const S* samples, const u8* specials, u64 n) {
  std::vector<S> probes;
  const u64 step = std::max<u64>(1, n / decimal_probes) | 1;
  for (u64 i = 0; i < n; i += step)
    if (!(specials && specials[i])) probes.push_back(samples[i]);
  return probes;
}

// The largest index of the probes; none if they are no such decimals.
template <class S>
std::optional<i64> largest_of(const Decimals& d, const std::vector<S>& probes) {
  i64 largest = 0;
  u64 others = 0;
  for (S v : probes) {
    i64 index;
    if (!reproduces(d, v, index)) {
      if (++others > probes.size() / probes_per_exception) return {};
    } else
      largest = std::max(largest, index < 0 ? -index : index);
    if (largest > largest_index<S>) return {};
  }
  return largest;
}

// Sets the lowest exponent for so many significant digits; false if a number is far out of the range of such decimals.
template <class S>
bool set_lowest(const std::vector<S>& numbers, Decimals& d) {
  int lowest = most_places + most_significant_digits;
  for (S v : numbers) {
    const double size = __builtin_fabs(double(v));
    if (size == 0) continue;
    if (!(size > 1e-40 && size < 1e40)) return false;
    lowest = std::min(lowest, decimal_exponent(size, d.digits));
  }
  d.lowest = std::max(lowest, -most_places);
  return true;
}

template <class S>
std::vector<S> first_of(const std::vector<S>& probes) {
  return {probes.begin(), probes.begin() + std::ptrdiff_t(std::min<u64>(probes.size(), probes_to_begin))};
}

// The fewest digits that reproduce the probes, with the largest index. `begin`: a few of them, which often show that there are none.
template <class S, class Prepare>
std::optional<i64> fewest_digits(const std::vector<S>& begin, const std::vector<S>& probes, int most, Decimals& d, Prepare prepare) {
  for (; d.digits <= most; d.digits++) {
    if (!prepare(begin) || !largest_of(d, begin)) continue;
    if (!prepare(probes)) continue;
    if (const auto largest = largest_of(d, probes)) return largest;
  }
  return {};
}

// All valid samples: what is largest, and what is no such decimal. Nothing if that is too much.
template <class S>
std::optional<FoundDecimals> verified(const Decimals& d, const S* samples, const u8* specials, u64 n) {
  FoundDecimals found{d, 0, {}};
  for (u64 i = 0; i < n; i++) {
    if (specials && specials[i]) continue;
    i64 index;
    if (reproduces(d, samples[i], index))
      found.largest = std::max(found.largest, index < 0 ? -index : index);
    else if (found.exceptions.push_back(i); found.exceptions.size() > n / samples_per_exception + 4)
      return {};
  }
  if (found.largest > largest_index<S>) return {};
  return found;
}

}  // namespace

template <class S>
std::optional<FoundDecimals> find_decimals(const S* samples, const u8* specials, u64 n) {
  const std::vector<S> probes = probes_of(samples, specials, n), begin = first_of(probes);
  if (probes.size() < probes_to_begin) return {};
  Decimals fixed{Decimals::fixed, 0, 0}, significant{Decimals::significant, 1, 0};
  const auto ready = [](const auto&) { return true; };
  const auto with_fixed = fewest_digits(begin, probes, sizeof(S) == 4 ? 12 : 18, fixed, ready);
  const auto lowest = [&](const std::vector<S>& numbers) { return set_lowest(numbers, significant); };
  const auto with_significant = fewest_digits(begin, probes, sizeof(S) == 4 ? 6 : most_significant_digits - 2, significant, lowest);
  const bool choose_fixed = with_fixed && !(with_significant && double(*with_significant) * worth_a_decade < double(*with_fixed));
  if (choose_fixed) return verified(fixed, samples, specials, n);
  if (!with_significant) return {};
  // a few exponents may be lower than those of the probes
  for (u64 i = 0; i < n; i++)
    if (const double size = __builtin_fabs(double(samples[i])); !(specials && specials[i]) && size > 1e-40 && size < 1e40)
      significant.lowest = std::max(std::min(significant.lowest, decimal_exponent(size, significant.digits)), -most_places);
  return verified(significant, samples, specials, n);
}

template std::optional<FoundDecimals> find_decimals(const float*, const u8*, u64);
template std::optional<FoundDecimals> find_decimals(const double*, const u8*, u64);

}  // namespace stz
