#include "encoder/represent/packed_grid.h"

#include <algorithm>
#include <cmath>

#include "coding/quantize.h"
#include "encoder/represent/fixed_point.h"

namespace stz {
namespace {

constexpr size_t values_per_exception = 500;  // such as those near zero, where two roundings count
template <class T>
constexpr double most_multiples = sizeof(T) == 4 ? 0x1p20 : 0x1p40;

template <class T>
bool is_on_grid(double low, double delta, T v) {
  return sample_bits(T(low + round_even((double(v) - low) / delta) * delta)) == sample_bits(v);
}
template <class T>
bool on_grid(const std::vector<T>& values, double low, double delta) {
  size_t others = 0;
  for (T v : values)
    if (!is_on_grid(low, delta, v) && ++others > values.size() / values_per_exception) return false;
  return true;
}

template <class T>
double unit_of(T v) {
  return double(std::nextafter(std::fabs(v), std::numeric_limits<T>::max())) - double(std::fabs(v));
}

// Spacings that are powers of two, and not below that of gaps.
template <class T>
std::optional<SliceGrid> binary_grid(const std::vector<T>& sorted, double of_gaps) {
  constexpr double least_steps = 16;
  const double low = double(sorted.front()), range = double(sorted.back()) - low;
  double delta = bit_cast_to<double>(bit_cast_to<u64>(range / least_steps) >> 52 << 52);
  for (; delta > 0.9 * of_gaps; delta *= 0.5)
    if (on_grid(sorted, low, delta)) return SliceGrid{low, delta, 0};
  return {};
}

// The mean spacing, from the gaps between neighbours: the smallest are taken for one step. Zero if gaps are not multiples of it.
template <class T>
double spacing_of_gaps(const std::vector<T>& sorted, double unit) {
  constexpr double least_units = 6, longest = 16, most_off = 0.3;
  std::vector<double> gaps;
  for (size_t i = 1; i < sorted.size(); i++) gaps.push_back(double(sorted[i]) - double(sorted[i - 1]));
  std::sort(gaps.begin(), gaps.end());
  if (gaps.empty() || gaps[0] < least_units * unit) return 0;
  double sum = 0, steps = 0;
  for (double gap : gaps) {
    const double mean = steps ? sum / steps : gap, k = round_even(gap / mean);
    if (k > longest) break;
    if (__builtin_fabs(gap - k * mean) > most_off * mean) return 0;
    sum += gap;
    steps += k;
  }
  return sum / steps;
}

struct Interval {
  double least, most;
  bool empty() const { return !(least <= most); }
  double middle() const { return 0.5 * (least + most); }
};

// Narrows down the spacing by the distances of all numbers, the short ones first, from one of them. They are off by so many units in the
// last place of a number. Empty if no spacing suits, or if a distance might be several multiples.
template <class T>
Interval narrowed(Interval delta, std::vector<T> numbers, T from, double units_off, double unit, double of_product) {
  constexpr Interval none{1, 0};
  const auto distance_to = [&](T v) { return __builtin_fabs(double(v) - double(from)); };
  std::sort(numbers.begin(), numbers.end(), [&](T a, T b) { return distance_to(a) < distance_to(b); });
  for (T v : numbers) {
    const double distance = distance_to(v), k = round_even(distance / delta.middle());
    if (k < 1) continue;
    if ((delta.most - delta.least) * k > 0.9 * delta.middle()) return none;
    // doubles were rounded more than once, wherever they cross zero too
    const double of_number = std::max(unit_of(v), unit_of(from));
    const double off = units_off * of_number * (1 + 1e-9) + (sizeof(T) == 4 ? 1e-7 * unit : of_product);
    delta = {std::max(delta.least, (distance - off) / k), std::min(delta.most, (distance + off) / k)};
    if (delta.empty()) return none;
  }
  return delta;
}

// Origin and spacing that suit the numbers, each of which was rounded.
class GridFit {
 public:
  template <class T>
  GridFit(const std::vector<T>& sorted, double delta, double unit) {
    constexpr size_t most = 2048;
    constexpr double below_a_half = 0.4999;
    const size_t step = std::max<size_t>(1, sorted.size() / most);
    const auto add = [&](T v) {
      numbers_.push_back(
          {double(v), below_a_half * std::max(unit_of(v), 1e-6 * unit), round_even((double(v) - double(sorted.front())) / delta)});
    };
    for (size_t i = 0; i < sorted.size(); i += step) add(sorted[i]);
    add(sorted.back());
  }
  // How much room a spacing leaves for the origin is concave.
  SliceGrid best(Interval delta) const {
    constexpr int thirds = 50;
    for (int i = 0; i < thirds && delta.most > delta.least; i++) {
      const double third = (delta.most - delta.least) / 3, low = delta.least + third, high = delta.most - third;
      const Interval of_low = origins(low), of_high = origins(high);
      of_low.most - of_low.least < of_high.most - of_high.least ? delta.least = low : delta.most = high;
    }
    return {origins(delta.middle()).middle(), delta.middle(), 0};
  }

 private:
  struct Number {
    double v, off, k;
  };
  // The origins that reproduce all numbers.
  Interval origins(double delta) const {
    Interval origin{-__builtin_inf(), __builtin_inf()};
    for (const Number& n : numbers_) {
      const double at = n.v - n.k * delta;
      origin = {std::max(origin.least, at - n.off), std::min(origin.most, at + n.off)};
    }
    return origin;
  }
  std::vector<Number> numbers_;
};

}  // namespace

template <class T>
std::optional<SliceGrid> find_packed_grid(std::vector<T> values) {
  constexpr size_t few = 64;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < few) return {};
  const double low = double(values.front()), range = double(values.back()) - low;
  if (!(range > 1e-300 && range < 1e300)) return {};
  const double unit = std::max({unit_of(values.front()), unit_of(values.back()), unit_of(T(range))});
  double of_gaps = spacing_of_gaps(values, unit);
  if (of_gaps == 0) {  // perhaps no two numbers are neighbours on the grid
    std::vector<double> numbers(values.begin(), values.end());
    of_gaps = likely_spacing<T>(numbers);
  }
  if (of_gaps == 0 || !(range / of_gaps < most_multiples<T>)) return {};
  if (const auto binary = binary_grid(values, of_gaps)) return binary;
  const Interval delta =
      narrowed({of_gaps - 0.25 * unit, of_gaps + 0.25 * unit}, values, values[values.size() / 2], 1, unit, unit_of(range));
  if (delta.empty()) return {};
  if (const Interval exact = narrowed(delta, values, values.front(), 0.5, unit, unit_of(range)); !exact.empty()) {
    constexpr int neighbours = 8;  // products with the spacing are rounded too
    for (i64 off = -neighbours; off <= neighbours; off++) {
      const double near = bit_cast_to<double>(bit_cast_to<u64>(exact.middle()) + u64(off));
      if (on_grid(values, low, near)) return SliceGrid{low, near, 0};
    }
  }
  const SliceGrid grid = GridFit(values, delta.middle(), unit).best(delta);
  if (!on_grid(values, grid.origin, grid.delta)) return {};
  return grid;
}

template std::optional<SliceGrid> find_packed_grid(std::vector<float>);
template std::optional<SliceGrid> find_packed_grid(std::vector<double>);

}  // namespace stz
