#include "encoder/represent/predictability.h"

#include <algorithm>

#include "base/pseudo_random.h"
#include "base/rough_log2.h"

namespace stz {
namespace {

constexpr u64 most_neighbourhoods = 512, fewest_neighbourhoods = 64, share = 32;
// Where a sample of a large array leaves it open whether neighbours say anything, this many times more are taken.
constexpr u64 closer_look = 8;
// Differences from the mean of two neighbours over those of pairs. Of independent normal numbers the quotient is 0.87, and that of a sample
// of 512 is below 0.8 in one array of eight.
constexpr double hopeless_from = 0.8, open_from = 0.65;
constexpr i64 farthest_neighbour = 3;

// A number, its place in the order of numbers, and one unit in its last place.
struct Sampled {
  double value, place, unit;
  u64 bits;
};

class Numbers {
 public:
  explicit Numbers(const Array& a) : a_(a), width_(8 * int(a.width)), mantissa_(mantissa_bits(a.layout.dtype)) {}
  Sampled at(u64 element, int part) const {
    const u64 bits = a_.bits(element, part), sign = u64(1) << (width_ - 1), magnitude = bits & (sign - 1);
    const i64 place = bits & sign ? -i64(magnitude) - 1 : i64(magnitude);
    const i32 dtype = a_.layout.dtype;
    const double value = number_of(dtype, bits);
    const double next = number_of(dtype, (magnitude >> mantissa_ << mantissa_) + 1),
                 first = number_of(dtype, magnitude >> mantissa_ << mantissa_);
    return {value, double(place), next - first, bits};
  }

 private:
  const Array& a_;
  const int width_, mantissa_;
};

struct Sums {
  double places = 0, units = 0;
  std::vector<double> differences;
  void add(double place, double units_off, double difference) {
    places += rough_log2(1 + std::min(__builtin_fabs(place), 0x1p64));
    units += rough_log2(1 + std::min(units_off, 0x1p64));
    differences.push_back(difference);
  }
};

double median_of(std::vector<double>& numbers) {
  const auto middle = numbers.begin() + std::ptrdiff_t(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// `quotient`: gets that of hopeless_from; 0 if there are too few numbers.
Predictability measured(const Array& a, u64 samples, double& quotient) {
  const double infinite = __builtin_inf();
  Predictability best{infinite, infinite, 0, false, 0};
  std::vector<double> values;
  u64 any = u64(1) << mantissa_bits(a.layout.dtype);
  const Numbers numbers(a);
  u64 stride = 1, seed = 1;
  for (int axis = a.layout.rank - 1; axis >= 0; axis--) {
    const u64 extent = a.layout.shape[axis];
    Sums linear, cubic;
    for (u64 s = 0; extent > 2 * u64(farthest_neighbour) && s < samples; s++) {
      u64 at = (pseudo_random(seed) << 31 | pseudo_random(seed)) % a.elements;
      const u64 index = at / stride % extent, inside = std::clamp<u64>(index, farthest_neighbour, extent - 1 - farthest_neighbour);
      at = at - index * stride + inside * stride;
      const int part = a.parts == 2 ? int(s & 1) : 0;
      auto number = [&](i64 d) { return numbers.at(u64(i64(at) + d * i64(stride)), part); };
      const Sampled x = number(0), l = number(-1), h = number(1), l3 = number(-farthest_neighbour), h3 = number(farthest_neighbour);
      if (!(__builtin_fabs(x.value) + __builtin_fabs(l.value) + __builtin_fabs(h.value) + __builtin_fabs(l3.value) +
                __builtin_fabs(h3.value) <
            infinite))
        continue;
      const double unit = x.unit;
      any |= x.bits;
      values.push_back(x.value);
      auto add = [&](Sums& sums, double value, double place) {
        const double off = __builtin_fabs(x.value - value);
        sums.add(x.place - place, off / unit, off);
      };
      const double near = (l.value + h.value) / 2, near_place = (l.place + h.place) / 2;
      add(linear, near, near_place);
      add(cubic, (9 * near - (l3.value + h3.value) / 2) / 8, (9 * near_place - (l3.place + h3.place) / 2) / 8);
    }
    stride *= extent;
    for (Sums* sums : {&linear, &cubic}) {
      const double n = double(sums->differences.size());
      if (n < double(fewest_neighbourhoods) / 4) continue;
      best.places = std::min(best.places, sums->places / n);
      if (sums->units / n >= best.units) continue;
      best.units = sums->units / n;
      best.median = median_of(sums->differences);
    }
  }
  for (size_t k = values.size(); k-- > 1;) values[k] = __builtin_fabs(values[k] - values[k - 1]);  // unrelated numbers
  const double unrelated = values.size() > 1 ? median_of(values) : 0;
  best.hopeless = values.size() > 1 && best.median > hopeless_from * unrelated;
  quotient = unrelated > 0 ? best.median / unrelated : 0;
  best.zero_bits = __builtin_ctzll(any);
  return best;
}

}  // namespace

Predictability predictability_of(const Array& a) {
  const u64 samples = std::clamp(a.elements / share, fewest_neighbourhoods, most_neighbourhoods);
  double quotient = 0;
  Predictability found = measured(a, samples, quotient);
  const bool open = !found.hopeless && quotient >= open_from && samples == most_neighbourhoods;
  if (open) found.hopeless = measured(a, closer_look * samples, quotient).hopeless;
  return found;
}

}  // namespace stz
