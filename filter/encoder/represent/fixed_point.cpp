#include "encoder/represent/fixed_point.h"

#include <algorithm>

#include "coding/quantize.h"
#include "format/convert.h"

namespace stz {
namespace {

constexpr u64 spacing_probes = 4000;
constexpr size_t some = 512;

// The greatest common divisor of positive numbers that are known to within `tolerance`.
double approximate_gcd(double a, double b, double tolerance) {
  while (b > tolerance) {
    double rest = a - round_even(a / b) * b;
    a = b;
    b = __builtin_fabs(rest);
  }
  return a;
}

// Short decimals and reciprocals near `delta`, which are likely the exact spacing.
std::vector<double> plain_spacings(double delta, double relative_tolerance) {
  std::vector<double> spacings;
  auto consider = [&](double d) {
    if (d > 0 && __builtin_fabs(d - delta) <= relative_tolerance * delta) spacings.push_back(d);
  };
  double power = 1;
  for (int digits = 0; digits <= 9; digits++, power *= 10) consider(round_even(delta * power) / power);
  consider(1 / round_even(1 / delta));
  spacings.push_back(delta);
  return spacings;
}

// Valid samples, spread evenly.
template <class S>
std::vector<double> sampled_values(const S* samples, const u8* specials, u64 n) {
  std::vector<double> values;
  const u64 step = std::max<u64>(1, n / spacing_probes) | 1;
  for (u64 i = 0; i < n; i += step)
    if (!(specials && specials[i])) values.push_back(double(samples[i]));
  return values;
}

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, __builtin_fabs(v));
  return largest;
}

// The gaps between neighbouring distinct values; none if one is below `smallest`.
std::optional<std::vector<double>> gaps_between(const std::vector<double>& sorted, double smallest) {
  std::vector<double> gaps;
  for (size_t i = 1; i < sorted.size(); i++) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap == 0) continue;
    if (gap < smallest) return {};
    gaps.push_back(gap);
  }
  return gaps;
}

// Whether two distinct values are found to be closer than `smallest`. Uses a table of cells of that width, so it may miss some.
bool any_close(const std::vector<double>& values, double smallest) {
  constexpr int log2_slots = 11;
  struct Slot {
    i64 cell;
    double value;
  };
  Slot slots[1 << log2_slots];
  for (Slot& slot : slots) slot.cell = INT64_MIN;
  const double first = values[0], inverse = 1 / smallest;
  for (double v : values) {
    const double cells = (v - first) * inverse;
    if (!(__builtin_fabs(cells) < 0x1p62)) continue;
    const i64 cell = i64(cells);
    Slot& slot = slots[u64(cell) * 0x9e3779b97f4a7c15u >> (64 - log2_slots)];
    if (slot.cell == cell && slot.value != v) {
      const double gap = __builtin_fabs(v - slot.value);
      if (gap < smallest) return true;
    }
    slot = {cell, v};
  }
  return false;
}

// Sorts the values and returns the gaps between them; none if two values are closer than `smallest`.
std::optional<std::vector<double>> sort_into_gaps(std::vector<double>& values, double smallest) {
  if (any_close(values, smallest)) return {};
  if (values.size() > 2 * some) {  // often a few values show that there is no grid
    std::vector<double> part(values.begin(), values.begin() + some);
    std::sort(part.begin(), part.end());
    if (!gaps_between(part, smallest)) return {};
  }
  std::sort(values.begin(), values.end());
  return gaps_between(values, smallest);
}

// The likely spacing: the greatest common divisor of the gaps; none if it is below `smallest`.
std::optional<double> common_spacing(std::vector<double> gaps, double tolerance, double smallest) {
  if (gaps.empty()) return {};
  std::sort(gaps.begin(), gaps.end());
  double delta = gaps[0];
  for (double gap : gaps) {
    if (gap > 8 * delta) break;  // the divisor is not known precisely enough for larger gaps
    delta = approximate_gcd(gap, delta, tolerance);
    if (delta < smallest) return {};
  }
  return delta;
}

// Refines a spacing with increasing distances, so that no multiple is miscounted. None if a value is far from all multiples.
std::optional<double> refined_spacing(double delta, const std::vector<double>& sorted) {
  const double first = sorted.front();
  for (double v : sorted) {
    const double k = round_even((v - first) / delta);
    if (k < 1) continue;
    if (__builtin_fabs(v - first - k * delta) > 0.25 * delta) return {};
    delta = (v - first) / k;
  }
  return delta;
}

// The largest |k| if every valid sample equals origin + k * delta bit by bit; else none. Far from the others numbers may be wider apart
// than multiples, so that each is a multiple; none if such a k does not fit in 64 bits.
template <class S>
std::optional<i64> largest_multiple(const S* samples, const u8* specials, u64 n, double origin, double delta) {
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  i64 largest = 0;
  for (u64 i = 0; i < n; i++) {
    if (specials && specials[i]) continue;
    const double k = round_even((double(samples[i]) - origin) / delta);
    const S value = S(origin + k * delta);
    if (value != samples[i] || bit_cast_to<Bits>(value) != bit_cast_to<Bits>(samples[i])) return {};
    const double size = __builtin_fabs(k);
    if (!(size < 0x1p62)) return {};
    largest = std::max(largest, i64(size));
  }
  return largest;
}

// What numbers of such a magnitude may be off, generously.
template <class S>
double rounding_of(double magnitude) {
  return 4 * magnitude * (sizeof(S) == 4 ? 1.2e-7 : 2.3e-16);
}

}  // namespace

template <class S>
double likely_spacing(std::vector<double>& values) {
  const double tolerance = rounding_of<S>(largest_magnitude(values)), smallest = 8 * tolerance;  // the smallest useful spacing
  auto gaps = sort_into_gaps(values, smallest);
  if (!gaps) return 0;
  auto spacing = common_spacing(std::move(*gaps), 2 * tolerance, smallest);
  if (spacing) spacing = refined_spacing(*spacing, values);
  return spacing.value_or(0);
}

template <class S>
std::optional<FixedPointGrid> find_fixed_point_grid(const Header&, const S* samples, const u8* specials, u64 n) {
  std::vector<double> values = sampled_values(samples, specials, n);
  const double magnitude = largest_magnitude(values);
  if (values.size() < 64 || !(magnitude < 1e300) || magnitude < 1e-300) return {};
  const double spacing = likely_spacing<S>(values), tolerance = rounding_of<S>(magnitude);
  if (spacing == 0) return {};

  const double first = values.front(), last = values.back();
  for (double delta : plain_spacings(spacing, 2 * tolerance / (last - first) + 1e-12)) {
    const double offset = first - round_even(first / delta) * delta;
    for (double origin : {0.0, offset}) {
      if (origin == 0.0 && __builtin_fabs(offset) > tolerance) continue;
      const double most = std::max(__builtin_fabs((first - origin) / delta), __builtin_fabs((last - origin) / delta));
      if (!(most < 1e15)) continue;
      if (const auto largest = largest_multiple(samples, specials, n, origin, delta)) return FixedPointGrid{origin, delta, *largest};
    }
  }
  return {};
}

template double likely_spacing<float>(std::vector<double>&);
template double likely_spacing<double>(std::vector<double>&);
template std::optional<FixedPointGrid> find_fixed_point_grid(const Header&, const float*, const u8*, u64);
template std::optional<FixedPointGrid> find_fixed_point_grid(const Header&, const double*, const u8*, u64);

}  // namespace stz
