// Quantizers and samples for them: near ties, at the bound, at the limits of codes.
#pragma once
#include "values.h"

namespace check {

template <class T>
Uniform<T> random_quantizer(Random& random) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  Uniform<T> q;
  const T bound = std::ldexp(T(random.below(3) ? random.real() + 1 : 1), int(random.between(-12, 6)));
  q.step = 2 * bound;
  q.inverse = 1 / q.step;
  q.safe = bound * (1 - 4 * epsilon);
  q.code_limit = sizeof(T) == 4 ? T(1 << 21) : T(i64(1) << 50);
  if (random.below(3) == 0) {
    q.dead_zone = T(0.3 + 0.1 * double(random.below(8)));
    q.safe = q.step * std::max(T(0.5), q.dead_zone);
  }
  if (random.below(16) == 0) q.safe = -1;                                    // nothing is proved
  if (random.below(16) == 0) q.safe = bound / 2;                             // half of the codes fail
  if (random.below(16) == 0) q.step = std::numeric_limits<T>::denorm_min();  // p is all there is
  if (random.below(16) == 0) q.step = q.inverse = std::numeric_limits<T>::max();
  return q;
}

// A code within the limit, at it, or one beyond, like those that occur: mostly small.
template <class T>
i64 random_code(Random& random, i64 limit, bool beyond) {
  const i64 edges[] = {0, 1, -1, 126, 127, 128, -126, -127, -128, limit, -limit, limit - 1, 1 - limit};
  const i64 code = random.below(8) ? i64(20 * random.normal()) : random.below(2) ? edges[random.below(13)] : random.between(-limit, limit);
  if (beyond && random.below(64) == 0) return random.below(2) ? limit + 1 : -limit - 1;
  return std::clamp(code, -limit, limit);
}

// A sample whose code is `code` or nearly so.
template <class T>
T sample_near(Random& random, T p, T step, T bound, i64 code, int kind) {
  if (kind == special && random.below(8) == 0) return special_value<T>(random);
  if (kind == wide && random.below(4) == 0) return wide_value<T>(random);
  const T centre = p + T(code) * step;
  T x = centre;
  switch (random.below(8)) {
    case 0:
      x = p + (T(code) + T(0.5)) * step;
      break;  // a tie
    case 1:
      x = centre + bound;
      break;
    case 2:
      x = centre - bound;
      break;
    case 3:
      return centre;
    default:
      return centre + T(2 * random.real() - 1) * bound;
  }
  const T infinity = std::numeric_limits<T>::infinity();
  return random.below(3) == 0 ? x : std::nextafter(x, random.below(2) ? infinity : -infinity);
}

}  // namespace check
