// Remainders put into numbers.
#include <cmath>

#include "guarded.h"
#include "values.h"

namespace check {
namespace {

template <class U, RemainderKernels<U> Kernels::*member>
struct Remainders {
  using T = std::conditional_t<sizeof(U) == 4, float, double>;
  static constexpr int mantissa = sizeof(U) == 4 ? 23 : 52, bias = sizeof(U) == 4 ? 127 : 1023;

  // The smallest and the largest step, or one in between.
  static RemainderForm random_form(Random& random) {
    const u64 kind = random.below(8);
    RemainderForm f{};
    f.exponent_of_step = kind == 0 ? 1 : kind == 1 ? 2 * bias : u64(random.between(1, 2 * bias));
    f.step = std::ldexp(1.0, int(f.exponent_of_step) - bias);
    f.inverse = 1 / f.step;
    f.mantissa = mantissa;
    f.zero_bits = int(random.below(2) ? 0 : random.between(0, mantissa));
    f.all_ones = 2 * bias + 1;
    f.has_fill = random.below(2);
    return f;
  }

  // Near multiples, halves of steps, or anything.
  static T number(Random& random, const RemainderForm& f) {
    const u64 kind = random.below(16);
    if (kind == 0) return special_value<T>(random);
    if (kind == 1) return wide_value<T>(random);
    const double steps = std::ldexp(random.normal(), int(random.between(-2, kind < 6 ? 24 : 8)));
    return T((kind == 2 ? std::floor(steps) + 0.5 : kind == 3 ? steps : std::floor(steps) + 0.4 * random.real()) * f.step);
  }

  static void add(const Kernels& tested, Random& random) {
    for (int l = 0; l < lengths; l++)
      for (int repeat = 0; repeat < 6; repeat++) {
        const size_t n = size_t(length_of(l)), most = n * size_t(mantissa) / 8 + 9;
        const u64 size = random.below(3) ? most : random.below(most), at = random.below(random.below(4) ? 8 : 8 * size + 99);
        RemainderForm f = random_form(random);
        Guarded<u8> bits(random, size_t(size));
        Guarded<U> x(random, n);
        Guarded<u32> small(random, n);
        for (size_t i = 0; i < n; i++) x[i] = __builtin_bit_cast(U, number(random, f));
        if (n && f.has_fill) {
          const T whole = T(5 * f.step), chosen = random.below(2) ? whole : __builtin_bit_cast(T, x[random.below(n)]);
          f.fill = __builtin_bit_cast(U, chosen);
          for (size_t i = 0; i < n; i += 1 + random.below(9))
            x[i] = random.below(2) ? U(f.fill) : __builtin_bit_cast(U, T(__builtin_bit_cast(T, U(f.fill)) + T(0.2 * f.step)));
        }
        note("n %zu, size %zu, at %zu, exponent of step %zu, zero bits %d", n, size_t(size), size_t(at), size_t(f.exponent_of_step),
             f.zero_bits);
        std::vector<U> expected(x.data(), x.data() + n);
        std::vector<u32> places(n + 1);
        size_t count = 0, expected_count = 0;
        remember(bits, x, small);
        const u64 end = (tested.*member).add(bits.data(), size, at, x.data(), n, f, small.data(), &count);
        bits.unchanged("bits");
        x.changed_only("x", 0, i64(n));
        small.changed_only("small", 0, i64(n));
        same("end", end, (reference.*member).add(bits.data(), size, at, expected.data(), n, f, places.data(), &expected_count));
        same("x", x.data(), expected.data(), n);
        same("count", count, expected_count);
        same("small", small.data(), places.data(), count);
      }
  }
};

}  // namespace

void add_remainders(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(remainders32.add), Remainders<u32, &Kernels::remainders32>::add});
  entries.push_back({CHECK_SLOT(remainders64.add), Remainders<u64, &Kernels::remainders64>::add});
}

}  // namespace check
