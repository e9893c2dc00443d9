#include "encoder/fixed_point.h"

#include <algorithm>

#include "format/convert.h"
#include "format/quantize.h"

namespace stz {
namespace {

constexpr u64 probes = 4000;
constexpr size_t some = 512;

// Greatest common divisor of positive numbers known to within `tolerance`.
double approximate_gcd(double a, double b, double tolerance) {
  while (b > tolerance) {
    double rest = a - round_even(a / b) * b;
    a = b;
    b = __builtin_fabs(rest);
  }
  return a;
}

// Short decimal or reciprocal numbers near `delta`, the likely exact spacing.
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

}  // namespace

template <class S>
std::optional<FixedPointGrid> find_fixed_point_grid(const Header& h, const S* samples, const u8* specials, u64 n) {
  std::vector<double> values;
  double largest = 0;
  const u64 step = std::max<u64>(1, n / probes) | 1;
  for (u64 i = 0; i < n; i += step) {
    if (specials && specials[i]) continue;
    values.push_back(double(samples[i]));
    largest = std::max(largest, __builtin_fabs(values.back()));
  }
  if (values.size() < 64 || !(largest < 1e300) || largest < 1e-300) return {};
  const double ulp = largest * (sizeof(S) == 4 ? 1.2e-7 : 2.3e-16), tolerance = 4 * ulp;
  // some of them already tell where there is none
  if (values.size() > 2 * some) {
    std::vector<double> part(values.begin(), values.begin() + some);
    std::sort(part.begin(), part.end());
    for (size_t i = 1; i < some; i++)
      if (part[i] != part[i - 1] && part[i] - part[i - 1] < 8 * tolerance) return {};
  }
  std::sort(values.begin(), values.end());
  std::vector<double> gaps;
  for (size_t i = 1; i < values.size(); i++) {
    double gap = values[i] - values[i - 1];
    if (gap == 0) continue;
    if (gap < 8 * tolerance) return {};  // closer than any grid worth having
    gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end());
  double delta = 0;
  for (double gap : gaps) {
    if (delta && gap > 8 * delta) break;  // the divisor is not known well enough for more
    delta = delta ? approximate_gcd(gap, delta, 2 * tolerance) : gap;
    if (delta < 8 * tolerance) return {};
  }
  if (!delta) return {};
  // refine over growing distances, so that no multiple is miscounted
  const double first = values.front();
  for (double v : values) {
    double k = round_even((v - first) / delta);
    if (k >= 1 && __builtin_fabs(v - first - k * delta) > 0.25 * delta) return {};
    if (k >= 1) delta = (v - first) / k;
  }
  const double span = values.back() - first;
  Header trial = h;
  trial.transform = Transform::fixed_point;
  for (double d : plain_spacings(delta, 2 * tolerance / span + 1e-12)) {
    double offset = first - round_even(first / d) * d;
    for (double origin : {0.0, offset}) {
      if (origin == 0.0 && __builtin_fabs(offset) > tolerance) continue;
      trial.origin = origin;
      trial.delta = d;
      double most = std::max(__builtin_fabs((first - origin) / d), __builtin_fabs((values.back() - origin) / d));
      if (!(most < 1e15)) continue;
      i64 top = 0;
      bool exact = true;
      for (u64 i = 0; i < n && exact; i++) {
        if (specials && specials[i]) continue;
        double k = round_even((double(samples[i]) - origin) / d);
        exact = S(origin + k * d) == samples[i] && bit_cast_to<std::conditional_t<sizeof(S) == 4, u32, u64>>(S(origin + k * d)) ==
                                                       bit_cast_to<std::conditional_t<sizeof(S) == 4, u32, u64>>(samples[i]);
        top = std::max(top, i64(__builtin_fabs(k)));
      }
      if (exact) return FixedPointGrid{origin, d, top};
    }
  }
  return {};
}

template std::optional<FixedPointGrid> find_fixed_point_grid(const Header&, const float*, const u8*, u64);
template std::optional<FixedPointGrid> find_fixed_point_grid(const Header&, const double*, const u8*, u64);

}  // namespace stz
