// Quantizers of rows: what vector kernels make of a row of integers or of ULP space is what its samples give one by one, wherever
// predictions lie, and comes back.
#include "coding/quantize.h"

#include <cmath>
#include <limits>

#include "unit.h"

using namespace unit;

namespace {

template <class T>
struct Row {
  Quantizer<T> q;
  std::vector<T> x, p;
};

// Predictions up to beyond what is rounded by an addition, from where on halves are still there for a while; many of them ties.
template <class T>
T random_prediction(Random& random) {
  constexpr int digits = std::numeric_limits<T>::digits;
  if (random.chance(0.01)) {
    const T far[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), T(-1e30), T(9.3e18)};
    return far[random.below(4)];
  }
  const int bits = random.chance(0.9) ? 16 : random.chance(0.5) ? digits - 1 : digits;
  return T(random.signed_magnitude(bits)) + T(0.25) * T(random.between(-2, 2));
}

template <class T>
Row<T> random_integers(Random& random, size_t n) {
  Row<T> r;
  r.q.kind = QuantizerKind::integer;
  const u64 steps[] = {1, 1, 3, 41, 2001, (u64(1) << 22) + 1, (u64(1) << 52) + 1};
  r.q.step = steps[random.below(7)];
  const bool calm = random.chance(0.7);  // all near to predictions that are not large
  for (size_t i = 0; i < n; i++) {
    const T p = calm ? T(random.signed_magnitude(16)) + T(0.5) * T(random.below(2)) : random_prediction<T>(random);
    const i64 near = std::fabs(p) < T(i64(1) << 52) ? i64(p) : 0, limit = (i64(1) << std::numeric_limits<T>::digits) - 1;
    const i64 x = near + random.signed_magnitude(calm || random.chance(0.9) ? 10 : 22);
    r.p.push_back(p);
    r.x.push_back(T(x > limit ? limit : x < -limit ? -limit : x));
  }
  if (random.chance(0.2)) r.q.avoid_from = r.q.avoid_to = r.x[random.below(n)];
  return r;
}

template <class T>
Row<T> random_numbers(Random& random, size_t n) {
  Row<T> r;
  r.q.kind = QuantizerKind::ulp;
  r.q.zero_bits = random.chance(0.5) ? 0 : int(random.below(20));
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  const Bits centre = Bits(random.bits());
  const int width = int(random.below(8 * sizeof(T)));
  for (size_t i = 0; i < n; i++) {
    const T x = bit_cast_to<T>(Bits((centre ^ Bits(random.of_width(width))) >> r.q.zero_bits << r.q.zero_bits));
    r.x.push_back(std::isfinite(x) ? x : T(0));
    r.p.push_back(random.chance(0.02) ? random_prediction<T>(random) : bit_cast_to<T>(centre ^ Bits(random.of_width(width))));
  }
  if (random.chance(0.2)) r.q.avoid_from = r.q.avoid_to = r.x[random.below(n)];
  return r;
}

template <class T>
struct Quantized {
  std::vector<CodeOf<T>> code;
  std::vector<T> reconstructed;
  std::vector<Outlier> outliers;
  Quantized(const Row<T>& r, bool by_kernels) {
    std::vector<T> x = r.x, p = r.p;
    std::vector<u8> masked(x.size(), 0);
    if (!by_kernels) x.push_back(1), p.push_back(1), masked.push_back(1);  // a row with a mask is done sample by sample
    code.resize(x.size());
    reconstructed.resize(x.size());
    quantize_row(r.q, x.data(), 1, p.data(), int(x.size()), masked.data(), 7, code.data(), reconstructed.data(), outliers);
  }
};

template <class T>
void check_row(const Row<T>& r, int turn) {
  const Quantized<T> row(r, true), single(r, false);
  const size_t n = r.x.size();
  for (size_t i = 0; i < n; i++) {
    CHECK(row.code[i] == single.code[i], "turn %d: sample %zu of %zu", turn, i, n);
    CHECK(sample_bits(row.reconstructed[i]) == sample_bits(single.reconstructed[i]), "turn %d: sample %zu of %zu", turn, i, n);
  }
  CHECK(row.outliers.size() == single.outliers.size());
  for (size_t k = 0; k < row.outliers.size(); k++)
    CHECK(row.outliers[k].index == single.outliers[k].index && row.outliers[k].bits == single.outliers[k].bits);
  std::vector<T> back(n);
  size_t next = 0;
  dequantize_row(r.q, row.code.data(), r.p.data(), int(n), true, row.outliers, next, back.data());
  CHECK(next == row.outliers.size());
  for (size_t i = 0; i < n; i++) CHECK(sample_bits(back[i]) == sample_bits(row.reconstructed[i]), "turn %d: sample %zu", turn, i);
}

template <class T>
void check_rows(u64 seed) {
  Random random(seed);
  for (int turn = 0; turn < 4000; turn++) {
    const size_t n = 1 + random.below(80);
    check_row(random_integers<T>(random, n), turn);
    check_row(random_numbers<T>(random, n), turn);
  }
}

}  // namespace

TEST(rows_of_float_samples_are_quantized_like_single_ones) { check_rows<float>(1); }
TEST(rows_of_double_samples_are_quantized_like_single_ones) { check_rows<double>(2); }

// An outlier that the stream does not have.
TEST(missing_outliers_are_damage) {
  for (QuantizerKind kind : {QuantizerKind::integer, QuantizerKind::ulp}) {
    Quantizer<float> q;
    q.kind = kind;
    const i32 code[3] = {0, outlier_code<i32>, 0};
    const float p[3] = {1, 2, 3};
    float back[3];
    size_t next = 0;
    CHECK(failure_of([&] { dequantize_row(q, code, p, 3, true, {}, next, back); }) == STZ_ERROR_CORRUPT);
  }
}
