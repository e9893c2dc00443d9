// Rows of integers and of places in the order of numbers (ULP space), to codes and back; elements that are integers.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

template <class T>
const NumberKernels<T>& numbers_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.number32;
  else
    return k.number64;
}

template <class T>
constexpr i64 limit = i64(1) << (sizeof(T) == 4 ? 22 : 51);  // of predictions

// ---------------------------------------------------------------- integers

// Ties, numbers next to them and any others, up to the limit of predictions.
template <class T>
T random_prediction(Random& random, i64 most) {
  const T whole = T(random.between(-most, most - 1));
  const T v = random.below(3) == 0 ? whole + T(0.5) : random.below(2) ? whole : whole + T(random.real());
  const T near = random.below(4) ? v : std::nextafter(v, T(random.below(2) ? -limit<T> : limit<T>));
  return std::fabs(near) < T(limit<T>) ? near : whole;
}

// A prediction beyond the limit, the first one mostly, in one place, the last one mostly.
template <class T>
void go_beyond(Random& random, T* p, size_t n) {
  const T edges[] = {T(limit<T>), -T(limit<T>), T(limit<T>) * T(1.25) + 1, nan_of_arithmetic<T>(), std::numeric_limits<T>::infinity()};
  if (n && random.below(2)) p[random.below(2) ? n - 1 : random.below(n)] = edges[random.below(2) ? 0 : random.below(5)];
}

template <class T>
i64 random_step(Random& random, i64 most) {
  const i64 edges[] = {1, 3, 5, 41, most - 1};
  return random.below(3) ? edges[random.below(5)] : random.between(0, most / 2 - 1) * 2 + 1;
}

template <class T>
void check_quantize_integers(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 8; repeat++) {
      const int n = length_of(l);
      const bool beyond = repeat % 4 == 3;
      const i64 step = random_step<T>(random, limit<T> / 4), most = random.below(2) ? limit<T> : 70000;
      note("n %d, step %lld%s", n, (long long)step, beyond ? ", beyond the limits" : "");
      Guarded<T> x(random, size_t(n)), p(random, size_t(n)), r(random, size_t(n));
      Guarded<Code> code(random, size_t(n));
      for (int i = 0; i < n; i++) {
        const T prediction = random_prediction<T>(random, most);
        const i64 whole = std::llrint(prediction);
        const i64 far = limit<T> / 2 + (beyond && random.below(64) == 0);
        // half a step beside a multiple: the last integer on either side of a tie
        const i64 multiple = random.between(-far, far) / step * step;
        const i64 differences[] = {multiple,
                                   multiple + step / 2,
                                   multiple - step / 2,
                                   far,
                                   -far,
                                   random.between(-far, far),
                                   i64(double(step) * random.normal()),
                                   i64(20 * random.normal())};
        p[size_t(i)] = prediction;
        x[size_t(i)] = T(whole + std::clamp(differences[random.below(8)], -far, far));
      }
      if (beyond) go_beyond(random, p.data(), size_t(n));
      remember(x, p, r, code);
      const bool good = numbers_of<T>(tested).quantize_integers(x.data(), p.data(), n, T(step), code.data(), r.data());
      x.unchanged("x");
      p.unchanged("p");
      r.changed_only("reconstructed", 0, n);
      code.changed_only("code", 0, n);
      std::vector<Code> codes(size_t(n) + 1);
      std::vector<T> reconstructed(size_t(n) + 1);
      same<int>("result", good,
                numbers_of<T>(reference).quantize_integers(x.data(), p.data(), n, T(step), codes.data(), reconstructed.data()));
      if (!good) continue;
      same("code", code.data(), codes.data(), size_t(n));
      same("reconstructed", r.data(), reconstructed.data(), size_t(n));
    }
}

template <class T>
void check_dequantize_integers(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 8; repeat++) {
      const int n = length_of(l);
      const bool beyond = repeat % 4 == 3;
      const i64 step = random_step<T>(random, limit<T> / 4), most = random.below(2) ? limit<T> : 70000;
      note("n %d, step %lld%s", n, (long long)step, beyond ? ", beyond the limits" : "");
      Guarded<T> p(random, size_t(n)), r(random, size_t(n));
      Guarded<Code> code(random, size_t(n));
      const i64 largest = std::min(limit<T> / 2, 2 * limit<T> / step);
      for (size_t i = 0; i < size_t(n); i++) {
        p[i] = random_prediction<T>(random, most);
        const i64 codes[] = {0, largest, -largest, random.between(-largest, largest), i64(20 * random.normal())};
        code[i] = Code(std::clamp(codes[random.below(5)], -largest, largest));
        if (beyond && random.below(64) == 0) code[i] = Code(std::min(limit<T> / 2, largest + 1));
      }
      if (beyond) go_beyond(random, p.data(), size_t(n));
      remember(p, r, code);
      const bool good = numbers_of<T>(tested).dequantize_integers(code.data(), p.data(), n, T(step), r.data());
      p.unchanged("p");
      code.unchanged("code");
      r.changed_only("reconstructed", 0, n);
      std::vector<T> expected(size_t(n) + 1);
      same<int>("result", good, numbers_of<T>(reference).dequantize_integers(code.data(), p.data(), n, T(step), expected.data()));
      if (good) same("reconstructed", r.data(), expected.data(), size_t(n));
    }
}

// ---------------------------------------------------------------- ULP space

template <class T>
int random_zero_bits(Random& random) {
  return random.below(2) ? 0 : int(random.below(sizeof(T) == 4 ? 23 : 52));
}

template <class T>
void check_quantize_ulps(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  using Bits = std::make_unsigned_t<Code>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l), zero_bits = random_zero_bits<T>(random);
      const bool beyond = random.below(4) == 0;
      note("%s, n %d, %d zero bits", kind_name(kind), n, zero_bits);
      Guarded<T> x(random, size_t(n)), p(random, size_t(n)), r(random, size_t(n));
      Guarded<Code> code(random, size_t(n));
      fill_values(random, kind, p.data(), size_t(n));
      fill_values(random, kind, x.data(), size_t(n));
      for (size_t i = 0; i < size_t(n); i++) {
        if (x[i] != x[i]) x[i] = std::numeric_limits<T>::infinity();
        Bits b = bit_cast_to<Bits>(x[i]);
        if (!beyond || random.below(64)) b = Bits(b >> zero_bits << zero_bits);
        if (sizeof(T) == 8 && (!beyond || random.below(64)))  // codes of 61 bits do not reach everywhere
          p[i] = bit_cast_to<T>(Bits(b ^ (random.next() >> random.between(4, 63))));
        x[i] = bit_cast_to<T>(b);
        if (p[i] != p[i]) p[i] = nan_of_arithmetic<T>();
      }
      remember(x, p, r, code);
      const bool good = numbers_of<T>(tested).quantize_ulps(x.data(), p.data(), n, zero_bits, code.data(), r.data());
      x.unchanged("x");
      p.unchanged("p");
      r.changed_only("reconstructed", 0, n);
      code.changed_only("code", 0, n);
      std::vector<Code> codes(size_t(n) + 1);
      std::vector<T> reconstructed(size_t(n) + 1);
      same<int>("result", good,
                numbers_of<T>(reference).quantize_ulps(x.data(), p.data(), n, zero_bits, codes.data(), reconstructed.data()));
      same("code", code.data(), codes.data(), size_t(n));
      same("reconstructed", r.data(), reconstructed.data(), size_t(n));
    }
}

template <class T>
void check_dequantize_ulps(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l), zero_bits = random_zero_bits<T>(random);
      const u64 step = random.below(2) ? 1 : random.next() >> random.between(0, 63);
      note("%s, n %d, %d zero bits, step %llu", kind_name(kind), n, zero_bits, (unsigned long long)step);
      Guarded<T> p(random, size_t(n)), r(random, size_t(n));
      Guarded<Code> code(random, size_t(n));
      fill_values(random, kind, p.data(), size_t(n));
      for (size_t i = 0; i < size_t(n); i++) code[i] = Code(Code(random.next()) >> random.below(8 * sizeof(Code)));
      remember(p, r, code);
      numbers_of<T>(tested).dequantize_ulps(code.data(), p.data(), n, step, zero_bits, r.data());
      p.unchanged("p");
      code.unchanged("code");
      r.changed_only("reconstructed", 0, n);
      std::vector<T> expected(size_t(n) + 1);
      numbers_of<T>(reference).dequantize_ulps(code.data(), p.data(), n, step, zero_bits, expected.data());
      same("reconstructed", r.data(), expected.data(), size_t(n));
    }
}

// ---------------------------------------------------------------- elements

template <class T>
const ElementKernels<T>& elements_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.element32;
  else
    return k.element64;
}

template <class T>
void check_load(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < 6; kind++) {
      const size_t n = size_t(length_of(l)), bytes = size_t(1) << kind / 2;
      const bool is_signed = kind % 2;
      note("n %zu of %zu bytes%s", n, bytes, is_signed ? ", signed" : "");
      Guarded<u8> elements(random, n * bytes);  // any bits
      Guarded<T> samples(random, n);
      remember(elements, samples);
      elements_of<T>(tested).load(elements.data(), int(bytes), is_signed, n, samples.data());
      elements.unchanged("elements");
      samples.changed_only("samples", 0, i64(n));
      std::vector<T> expected(n + 1);
      elements_of<T>(reference).load(elements.data(), int(bytes), is_signed, n, expected.data());
      same("samples", samples.data(), expected.data(), n);
    }
}

template <class T>
void check_store(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < 6; kind++) {
      const size_t n = size_t(length_of(l)), bytes = size_t(1) << kind / 2;
      const bool is_signed = kind % 2;
      note("n %zu of %zu bytes%s", n, bytes, is_signed ? ", signed" : "");
      Guarded<T> samples(random, n);
      Guarded<u8> elements(random, n * bytes);
      fill_values(random, int(random.below(kinds)), samples.data(), n);
      // around the ends of the range, and ties
      const double low = is_signed ? -std::ldexp(1.0, 8 * int(bytes) - 1) : 0, high = low + std::ldexp(1.0, 8 * int(bytes)) - 1;
      for (size_t i = 0; i < n; i++)
        if (random.below(2))
          samples[i] = T((random.below(3)   ? low + random.real() * (high - low)
                          : random.below(2) ? low
                                            : high) +
                         0.5 * double(random.between(-3, 3)));
        else if (random.below(2))
          samples[i] = T(std::floor(double(samples[i])) + 0.5);
      remember(samples, elements);
      elements_of<T>(tested).store(samples.data(), n, int(bytes), is_signed, elements.data());
      samples.unchanged("samples");
      elements.changed_only("elements", 0, i64(n * bytes));
      std::vector<u8> expected(n * bytes + 1);
      elements_of<T>(reference).store(samples.data(), n, int(bytes), is_signed, expected.data());
      same("elements", elements.data(), expected.data(), n * bytes);
    }
}

}  // namespace

void add_integers(std::vector<Entry>& entries) {
#define INTEGERS(member, elements, T)                                                        \
  entries.push_back({CHECK_SLOT(member.quantize_integers), check_quantize_integers<T>});     \
  entries.push_back({CHECK_SLOT(member.dequantize_integers), check_dequantize_integers<T>}); \
  entries.push_back({CHECK_SLOT(member.quantize_ulps), check_quantize_ulps<T>});             \
  entries.push_back({CHECK_SLOT(member.dequantize_ulps), check_dequantize_ulps<T>});         \
  entries.push_back({CHECK_SLOT(elements.load), check_load<T>});                             \
  entries.push_back({CHECK_SLOT(elements.store), check_store<T>});
  INTEGERS(number32, element32, float)
  INTEGERS(number64, element64, double)
}

}  // namespace check
