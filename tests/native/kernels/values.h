// What kernels are fed: samples of many kinds, neighbours of many shapes.
#pragma once
#include <cmath>
#include <limits>

#include "harness.h"

namespace check {

// The NaN that arithmetic makes. Others are left out: which of two NaNs an operation passes on is the compiler's choice.
template <class T>
T nan_of_arithmetic() {
  volatile T zero = 0;
  return zero / zero;
}

enum Kind { smooth, wide, special, zeros, signed_zeros, equal, kinds };
inline const char* kind_name(int kind) {
  static const char* const names[] = {"smooth", "wide", "special", "zeros", "signed zeros", "all equal"};
  return names[kind];
}

template <class T>
T wide_value(Random& random) {
  if constexpr (T(0.5) == T(0))
    return T(random.next() >> random.below(64)) * (random.below(2) ? 1 : -1);
  else {
    using L = std::numeric_limits<T>;
    return std::ldexp(T(random.real() + 1), int(random.between(L::min_exponent - L::digits, L::max_exponent - 1))) *
           (random.below(2) ? 1 : -1);
  }
}
template <class T>
T special_value(Random& random) {
  if constexpr (T(0.5) == T(0)) {
    const T values[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, (T(1) << 53) + 1, -(T(1) << 53) - 1, T(1) << 62, 3};
    return values[random.below(10)];
  } else {
    using L = std::numeric_limits<T>;
    const T values[] = {0,
                        -T(0),
                        1,
                        -1,
                        L::infinity(),
                        -L::infinity(),
                        L::max(),
                        -L::max(),
                        L::min(),
                        -L::min(),
                        L::denorm_min(),
                        -L::denorm_min(),
                        L::min() - L::denorm_min(),
                        nan_of_arithmetic<T>(),
                        T(0.5),
                        L::epsilon()};
    return values[random.below(16)];
  }
}

template <class T>
void fill_values(Random& random, int kind, T* to, size_t n) {
  const T constant = random.below(2) ? special_value<T>(random) : wide_value<T>(random);
  const bool few = random.below(2);  // special values among ordinary ones, or nothing else
  double walk = random.normal();
  for (size_t i = 0; i < n; i++) {
    const T ordinary = T(1000 * (walk += 0.1 * random.normal()));
    to[i] = kind == smooth         ? ordinary
            : kind == wide         ? wide_value<T>(random)
            : kind == special      ? few && random.below(8) ? ordinary : special_value<T>(random)
                 : kind == zeros ? T(0)
            : kind == signed_zeros ? (random.below(2) ? T(0) : -T(0))
                                   : constant;
  }
}

// Neighbours in groups, at distances up to `reach`; the first tap is the farthest above, the second the farthest below.
struct Taps {
  std::vector<int> taps;
  std::vector<std::ptrdiff_t> offset;
  TapTable table() const { return {int(taps.size()), taps.data(), offset.data()}; }
  std::string text() const {
    std::string all = "taps";
    for (int t : taps) all += " " + std::to_string(t);
    return all;
  }
};
// Groups of even numbers of taps, the first one of `first`.
inline Taps random_taps(Random& random, int groups, int first, int reach) {
  Taps t;
  const int numbers[] = {2, 4, 8, 2, 4, 8, 6, 10, 12, 16, 24, 32};
  for (int g = 0; g < groups; g++) {
    t.taps.push_back(g ? numbers[random.below(groups > 8 ? 7 : 12)] : first);
    for (int k = 0; k < t.taps.back(); k++) t.offset.push_back(random.between(-reach, reach));
  }
  t.offset[0] = reach;
  if (t.offset.size() > 1) t.offset[1] = -reach;
  return t;
}
template <class R>
std::vector<R> random_weights(Random& random, int kind, size_t groups) {
  std::vector<R> w(groups);
  for (R& v : w) v = kind == special && random.below(4) == 0 ? special_value<R>(random) : R(0.3 * random.normal());
  return w;
}

inline i64 rounded_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

// Extents and distances of rows that do not touch: `row` elements from one to the next at least, of an n.
inline ClassRows random_rows(Random& random, i64 length, i64 samples, i64 unit) {
  ClassRows r;
  r.n[3] = length;
  i64 left = length ? samples / length : 40;
  for (int a : {2, 1, 0}) {
    r.n[a] = std::min<i64>(random.below(8) ? random.between(1, a == 2 ? 20 : 4) : random.between(0, 3), std::max<i64>(left, 1));
    left /= std::max<i64>(r.n[a], 1);
  }
  auto gap = [&] { return random.below(2) ? random.between(0, 5) : 0; };
  r.stride[2] = rounded_up(length, unit) + gap();
  r.stride[1] = r.n[2] * r.stride[2] + gap();
  r.stride[0] = r.n[1] * r.stride[1] + gap();
  return r;
}
inline i64 samples_of(const ClassRows& r) { return r.n[0] * r.n[1] * r.n[2] * r.n[3]; }
// Elements from the first sample to the end of the last row, whose length is rounded up to a multiple of `unit`.
inline i64 extent_of(const ClassRows& r, i64 unit) {
  if (!samples_of(r)) return 0;
  return (r.n[0] - 1) * r.stride[0] + (r.n[1] - 1) * r.stride[1] + (r.n[2] - 1) * r.stride[2] + rounded_up(r.n[3], unit);
}
// f(distance of a row from the first sample)
template <class F>
void for_rows(const ClassRows& r, F f) {
  for (i64 i = 0; i < r.n[0]; i++)
    for (i64 j = 0; j < r.n[1]; j++)
      for (i64 k = 0; k < r.n[2]; k++) f(i * r.stride[0] + j * r.stride[1] + k * r.stride[2]);
}
inline std::string text_of_rows(const ClassRows& r) {
  std::string text = "extents";
  for (i64 n : r.n) text += " " + std::to_string(n);
  text += ", strides";
  for (i64 s : r.stride) text += " " + std::to_string(s);
  return text;
}

}  // namespace check
