// Fits: collecting samples, costs and weights of residuals, normal equations.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

template <class S>
CollectKernel<S>* collect_of(const Kernels& k) {
  if constexpr (sizeof(S) == 4)
    return k.fit.collect32;
  else if constexpr (S(0.5) != S(0))
    return k.fit.collect64;
  else
    return k.fit.collect_integers;
}

constexpr int run = 16;

// Values whose numbers are next to 1e15, where samples stop to be usable.
template <class S>
void fill_at_limit(Random& random, S* v, size_t n) {
  if constexpr (sizeof(S) == 4)
    for (size_t i = 0; i < n; i++) v[i] = random.below(3) ? S(0) : bit_cast_to<float>(bit_cast_to<u32>(1e15f) + u32(random.between(-1, 1)));
  else
    for (size_t i = 0; i < n; i++) v[i] = random.below(3) ? S(0) : S(1e15 + 2e7 * double(random.between(-4, 4)));
}

template <class S>
void check_collect(const Kernels& tested, Random& random) {
  using R = RealOf<S>;
  for (int repeat = 0; repeat < 3000; repeat++) {
    const int odd = int(random.between(1, 4)),
              groups = int(random.below(8) ? random.between(2 * odd, 2 * odd + 4) : random.between(2 * odd, max_groups)),
              reach = int(random.between(0, 40)), kind = int(random.below(kinds + 1)), pitch = int(random.between(16, 40));
    const Taps taps = random_taps(random, groups, 2, reach);
    const R inverse_unit = kind == kinds     ? R(1)
                           : random.below(8) ? R(std::ldexp(random.real() + 1, int(random.between(-40, 40))))
                                             : special_value<R>(random);
    note("%s, odd axes %d, %s, pitch %d, inverse unit %s", kind < kinds ? kind_name(kind) : "at the limit", odd, taps.text().c_str(), pitch,
         text_of(inverse_unit).c_str());
    Guarded<S> in(random, size_t(run + 2 * reach), 0, row_slack);
    Guarded<float> m(random, size_t((groups - 1) * pitch + run)), y(random, run);
    if (kind < kinds)
      fill_values(random, kind, in.data(), in.size());
    else
      fill_at_limit(random, in.data(), in.size());
    remember(in, m, y);
    const u32 usable = collect_of<S>(tested)(in.data() + reach, taps.table(), odd, inverse_unit, m.data(), pitch, y.data());
    in.unchanged("the samples");
    y.changed_only("y", 0, run);
    m.changed_only("m", 0, i64(m.size()), [&](i64 element) { return element % pitch < run; });
    std::vector<float> means(m.size()), target(run);
    const u32 expected = collect_of<S>(reference)(in.data() + reach, taps.table(), odd, inverse_unit, means.data(), pitch, target.data());
    same("y", y.data(), target.data(), run);
    for (int g = 0; g < groups; g++) same(("m of group " + std::to_string(g)).c_str(), m.data() + g * pitch, means.data() + g * pitch, run);
    same("usable samples", usable, expected);
  }
}

// ---------------------------------------------------------------- sums

// A length that is a multiple of 16: short ones, and some about where lanes are added up.
int random_length(Random& random) { return 16 * int(random.below(4) ? random.between(0, 20) : random.between(60, 140)); }

struct Columns {
  std::vector<std::unique_ptr<Guarded<float>>> arrays;
  std::vector<const float*> pointers;
  Columns(Random& random, int columns, int n, int kind) {
    for (int c = 0; c < columns; c++) {
      arrays.push_back(std::make_unique<Guarded<float>>(random, size_t(n)));
      fill_values(random, kind, arrays.back()->data(), size_t(n));
      arrays.back()->remember();
      pointers.push_back(arrays.back()->data());
    }
  }
  void unchanged() {
    for (auto& a : arrays) a->unchanged("a column");
  }
};

void check_cost(const Kernels& tested, Random& random) {
  for (int repeat = 0; repeat < 1500; repeat++) {
    const int n = random_length(random), kind = int(random.below(kinds)),
              columns = int(random.below(8) ? random.between(0, 8) : random.between(9, 32));
    const bool weighted = random.below(2);
    const float soft = random.below(4) ? float(1 + random.real()) : std::ldexp(1.0f, int(random.between(0, 60)));
    note("%s, n %d, %d columns%s, soft %s", kind_name(kind), n, columns, weighted ? ", weights" : "", text_of(soft).c_str());
    Columns column(random, columns, n, kind);
    Guarded<float> y(random, size_t(n)), weight(random, size_t(n)), c(random, size_t(columns));
    fill_values(random, kind, y.data(), size_t(n));
    for (int k = 0; k < columns; k++)
      c[size_t(k)] = kind == special && random.below(8) == 0 ? special_value<float>(random) : float(random.normal());
    remember(y, weight, c);
    const double actual = tested.fit.cost(column.pointers.data(), columns, y.data(), c.data(), n, soft, weighted ? weight.data() : nullptr);
    column.unchanged();
    y.unchanged("y");
    c.unchanged("c");
    weight.changed_only("weight", 0, weighted ? n : 0);
    std::vector<float> weights(size_t(n) + 1);
    const double expected =
        reference.fit.cost(column.pointers.data(), columns, y.data(), c.data(), n, soft, weighted ? weights.data() : nullptr);
    if (weighted) same("weight", weight.data(), weights.data(), size_t(n));
    same("cost", actual, expected);
    // the documented accuracy; sums of up to 64 floats round by less than what is allowed here
    if (columns == 0 && kind != special) {
      double exact = 0;
      for (int i = 0; i < n; i++) exact += std::log2(1 + std::fabs(double(y[size_t(i)])));
      const double rounding = 1e-5 * exact + 1e-6 * n;
      if (std::isfinite(exact) && !(actual >= exact - 2.5e-3 * n - rounding && actual <= exact + rounding))
        wrong("cost is %.9g, the sum of log2(1 + r) %.9g", actual, exact);
    }
  }
}

void check_products(const Kernels& tested, Random& random) {
  for (int repeat = 0; repeat < 600; repeat++) {
    const int n = random_length(random), kind = int(random.below(kinds)),
              columns = int(n < 400 && random.below(4) == 0 ? random.between(1, 33) : random.between(1, 9));
    note("%s, n %d, %d columns", kind_name(kind), n, columns);
    Columns column(random, columns, n, kind);
    Guarded<float> weight(random, size_t(n));
    Guarded<double> sums(random, size_t(columns * columns));
    fill_values(random, kind, weight.data(), size_t(n));
    remember(weight, sums);
    tested.fit.products(column.pointers.data(), columns, weight.data(), n, sums.data());
    column.unchanged();
    weight.unchanged("weight");
    sums.changed_only("sums", 0, columns * columns);
    std::vector<double> expected(sums.data(), sums.data() + columns * columns);  // below the diagonal anything will do
    reference.fit.products(column.pointers.data(), columns, weight.data(), n, expected.data());
    same("sums", sums.data(), expected.data(), expected.size());
  }
}

void check_feedback(const Kernels& tested, Random& random) {
  for (int repeat = 0; repeat < 600; repeat++) {
    FeedbackTrial trial{};
    for (i64& n : trial.rows) n = random.between(1, 4);
    trial.pitch = 16 * random.between(1, 3);
    trial.terms = int(random.below(4));
    int spare[3] = {2, 1, 0};
    for (int c = 0; c < trial.terms; c++) {
      std::swap(spare[c], spare[c + int(random.below(u64(3 - c)))]);
      trial.axis[c] = spare[c];
    }
    const size_t rows = size_t(trial.rows[0] * trial.rows[1] * trial.rows[2]), n = rows * size_t(trial.pitch);
    Guarded<float> even(random, n), odd(random, n);
    Guarded<u8> even_context(random, n), odd_context(random, n), even_key(random, n), odd_key(random, n);
    Guarded<float> even_residual(random, n + 16 * rows), odd_residual(random, n + 16 * rows);
    const float scale = std::ldexp(1.0f, int(random.between(-4, 16)));
    for (auto* difference : {&even, &odd})
      for (size_t x = 0; x < n; x++)
        (*difference)[x] = random.below(8)   ? scale * float(random.normal())
                           : random.below(4) ? float(random.between(-140, 140)) / 2
                                             : (random.below(2) ? __builtin_inff() : -2e6f);
    for (auto* context : {&even_context, &odd_context})
      for (size_t x = 0; x < n; x++) (*context)[x] = u8(16 * random.below(16));
    for (auto& weights : trial.before)
      for (float& w : weights) w = float(random.between(-64, 64)) / 64;
    trial.beside = float(random.between(-64, 64)) / 64;
    trial.soft = float(random.real() + 0.5);
    trial.limit = random.below(2) ? 1e9f : 127;
    note("%d x %d x %d rows of %d, %d terms", int(trial.rows[0]), int(trial.rows[1]), int(trial.rows[2]), int(trial.pitch), trial.terms);
    trial.difference[0] = even.data();
    trial.difference[1] = odd.data();
    trial.context[0] = even_context.data();
    trial.context[1] = odd_context.data();
    FeedbackTrial expected = trial;
    std::vector<float> residual[2];
    std::vector<u8> key[2];
    for (size_t parity : {0, 1}) {
      residual[parity].resize(n + 16 * rows);
      key[parity].resize(n);
      expected.residual[parity] = residual[parity].data();
      expected.key[parity] = key[parity].data();
      trial.residual[parity] = (parity ? odd_residual : even_residual).data();
      trial.key[parity] = (parity ? odd_key : even_key).data();
    }
    remember(even, odd, even_context, odd_context, even_key, odd_key, even_residual, odd_residual);
    FeedbackSums sums{}, expected_sums{};
    sums.size = expected_sums.size = 1;
    tested.fit.feedback(trial, sums);
    for (auto* input : {&even, &odd}) input->unchanged("a difference");
    for (auto* input : {&even_context, &odd_context}) input->unchanged("a context");
    for (auto* output : {&even_key, &odd_key}) output->changed_only("keys", 0, i64(n));
    for (auto* output : {&even_residual, &odd_residual}) output->changed_only("residuals", 0, i64(n + 16 * rows));
    reference.fit.feedback(expected, expected_sums);
    same("size", sums.size, expected_sums.size);
    same("wide", sums.wide, expected_sums.wide);
    for (size_t parity : {0, 1}) {
      same("product", sums.products[parity], expected_sums.products[parity], size_t(FeedbackSums::pitch * FeedbackSums::pitch));
      same("key", trial.key[parity], expected.key[parity], n);
      for (size_t row = 0; row < rows; row++) {
        const size_t from = row * size_t(trial.pitch + 16);
        same("residual", trial.residual[parity] + from, expected.residual[parity] + from, size_t(trial.pitch));
      }
    }
  }
}

}  // namespace

void add_fit(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(fit.collect32), check_collect<float>});
  entries.push_back({CHECK_SLOT(fit.collect64), check_collect<double>});
  entries.push_back({CHECK_SLOT(fit.collect_integers), check_collect<i64>});
  entries.push_back({CHECK_SLOT(fit.cost), check_cost});
  entries.push_back({CHECK_SLOT(fit.products), check_products});
  entries.push_back({CHECK_SLOT(fit.feedback), check_feedback});
}

}  // namespace check
