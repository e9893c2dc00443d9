#include "encoder/fit/fit.h"

#include "base/stages.h"

#include <algorithm>
#include <limits>

namespace stz {

// The pitch avoids powers of two, for which rows would share cache sets.
FitSamples::FitSamples(int groups, size_t capacity)
    : max_(groups),
      capacity_((capacity + fit_run - 1) / fit_run * fit_run + fit_run),
      pitch_((capacity_ + 63) / 64 * 64 + 2 * fit_run),
      storage_(size_t(groups + 5) * pitch_) {}

template <class S>
void FitSamples::add_run(const TapTable& taps, int odd, const S* row_of_samples, int n, const u8* masked, double unit) {
  float *m = storage_.data() + count_, *y = target() + count_;
  u32 usable = collect_kernel<S>()(row_of_samples, taps, odd, RealOf<S>(1 / unit), m, std::ptrdiff_t(pitch_), y);
  if (masked)
    for (int i = 0; i < n; i++) usable &= ~(u32(masked[i] != 0) << i);
  const u32 all = (1u << n) - 1;
  usable &= all;
  if (usable == all) {
    count_ += size_t(n);
    return;
  }
  for (int i = 0, to = 0; i < n; i++) {
    if (!(usable >> i & 1)) continue;
    y[to] = y[i];
    for (int g = 0; g < groups_; g++) m[size_t(g) * pitch_ + size_t(to)] = m[size_t(g) * pitch_ + size_t(i)];
    to++;
    count_++;
  }
}

template <class S>
void FitSamples::add_alternative(const RealOf<S>* prediction, const S* row_of_samples, int n, const u8* masked, double unit) {
  using R = RealOf<S>;
  const R inverse = R(1 / unit);
  float* out = alternative();
  for (int i = 0; i < n && alternative_count_ < capacity_; i++) {
    const float v = float((R(row_of_samples[i]) - prediction[i]) * inverse);
    if ((masked && masked[i]) || !(__builtin_fabsf(v) < 1e15f)) continue;
    out[alternative_count_++] = v;
  }
}

size_t FitSamples::pad(float* v, size_t n) {
  for (; n % fit_run; n++) v[n] = 0;
  return n;
}

double FitSamples::cost_of_cubics() {
  const size_t n = pad(target(), count_);
  return kernels().fit.cost(nullptr, 0, target(), nullptr, int(n), 1, nullptr);
}

double FitSamples::cost_of_alternative() {
  if (!alternative_count_) return std::numeric_limits<double>::infinity();
  const size_t n = pad(alternative(), alternative_count_);
  return kernels().fit.cost(nullptr, 0, alternative(), nullptr, int(n), 1, nullptr) / double(alternative_count_);
}

#define STZ_INSTANTIATE(S)                                                                      \
  template void FitSamples::add_run<S>(const TapTable&, int, const S*, int, const u8*, double); \
  template void FitSamples::add_alternative<S>(const RealOf<S>*, const S*, int, const u8*, double);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

namespace {

// Gaussian elimination of n rows of n + 1 numbers, right-hand side last. Only the upper triangle of the symmetric matrix is used.
void eliminate(double* a, int n) {
  const int pitch = n + 1;
  for (int i = 0; i < n; i++) {
    double& diagonal = a[i * pitch + i];
    diagonal = diagonal * (1 + 1e-6) + 1e-30;
  }
  for (int i = 0; i < n; i++) {
    const double* row = a + i * pitch;
    if (!(row[i] >= 1e-29)) continue;
    const double inverse = 1 / row[i];
    for (int k = i + 1; k < n; k++) {
      const double f = row[k] * inverse;
      double* lower_row = a + k * pitch;
      for (int j = k; j <= n; j++) lower_row[j] -= f * row[j];
    }
  }
}

// Solves for the first k unknowns of an eliminated system of n, without the others. Returns false if they are not usable as weights.
bool solve(const double* a, int n, int k, double* x) {
  const int pitch = n + 1;
  for (int i = k - 1; i >= 0; i--) {
    const double* row = a + i * pitch;
    double b = row[n];
    for (int j = i + 1; j < k; j++) b -= row[j] * x[j];
    x[i] = row[i] >= 1e-29 ? b / row[i] : 0;
    if (!(__builtin_fabs(x[i]) < 64)) return false;
  }
  return true;
}

}  // namespace

class ClassFit {
 public:
  ClassFit(FitSamples& s, const FitOptions& o) : s_(s), o_(o), n_(int((s.count_ + fit_run - 1) / fit_run * fit_run)) {
    // Group means are relative to the mean of the cubics, so their own mean of the cubics is 0 and the last group of faces at +-3 is
    // redundant.
    for (int g = 0; g < s.groups_; g++) {
      s.pad(s.row(g), s.count_);
      if (g == 2 * o.odd - 1) continue;
      column_[columns_] = s.row(g);
      group_[columns_++] = g;
    }
    s.pad(s.target(), s.count_);
    scale_ = double(o.class_samples) / double(s.count_);
    // The cost of a weight because it was fitted to a sample only.
    per_weight_ = 1.44 * std::max(0.0, scale_ - 1);
  }

  Fit cheapest(const std::vector<const Prediction*>& candidates) {
    const float zero[max_groups] = {};
    consider({}, cost(zero, 0, -1) * scale_ + 1);
    if (o_.coarser && is_usable(*o_.coarser)) consider(*o_.coarser, cost_of(*o_.coarser, -1) * scale_ + 2);
    for (const Prediction* p : candidates) {
      if (!is_usable(*p)) continue;
      ClassParameters known;
      static_cast<Prediction&>(known) = *p;
      consider(known, cost_of(*p, -1) * scale_ + naming(*p));
    }
    best_.parameters.groups = u8(groups_of(best_.parameters.stencil));
    return best_;
  }

  Fit best() {
    const float zero[max_groups] = {};
    const double plain = cost(zero, 0, -1);
    const float soft = soft_of(plain, 3);
    cost(zero, 0, 0, soft);
    double start = plain;
    consider({}, plain * scale_ + 1);
    int weights = 0;  // number of the array with weights of the best residuals
    const ClassParameters* c = o_.coarser;
    if (c && is_usable(*c)) {
      const double coarser_cost = cost_of(*c, 1, soft);
      consider(*c, coarser_cost * scale_ + 2);
      if (coarser_cost < start) {
        start = coarser_cost;
        weights = 1;
      }
    }
    if (s_.count_ >= 60 && best_.bits > 60) fitted(start, weights);
    best_.parameters.groups = u8(groups_of(best_.parameters.stencil));
    return best_;
  }

 private:
  int groups_of(u8 stencil) const {
    return stencil == stencil_standard ? o_.standard_groups : stencil == stencil_wide ? o_.wide_groups : o_.long_groups;
  }
  // `weights`: number of the array that receives the residuals' weights; negative: none.
  double cost(const float* c, int columns, int weights, float soft = 1) {
    return kernels().fit.cost(column_, columns, s_.target(), c, n_, soft, weights < 0 ? nullptr : s_.weight(weights));
  }
  // Whether a prediction of another array or level has weights for the groups of these samples: if an axis has one sample there, the groups
  // are different ones.
  bool is_usable(const Prediction& p) const { return p.precision && p.groups == groups_of(p.stencil) && p.groups <= s_.groups_; }
  double cost_of(const Prediction& p, int weights, float soft = 1) {
    float w[max_groups] = {};
    const double unit = 1.0 / double(i64(1) << p.precision);
    for (int k = 0; k < p.groups - 1; k++) w[k] = float(p.weight[group_[k]] * unit);
    return cost(w, p.groups - 1, weights, soft);
  }
  // Residuals are weighted by 1 / (soft + |residual|)^2, where `soft` is `times` their typical size, derived from the cost. It keeps
  // residuals that a fit happens to predict well from dominating the next one.
  float soft_of(double cost, double times) const {
    const double mean = std::min(cost / double(s_.count_), 50.0);
    const int octave = int(mean);
    return float(1 + times * (double(u64(1) << octave) * (1 + (mean - octave)) - 1));
  }
  // Wider stencils slow down encoder and decoder. If there are more bits than a quarter per sample, they have to save some of these.
  double with_effort(StencilId stencil, double bits) const {
    return stencil == stencil_standard ? bits : bits + o_.wide_saves * std::max(0.0, bits - 0.25 * double(o_.class_samples));
  }
  void consider(const ClassParameters& p, double bits) {
    bits = with_effort(StencilId(p.stencil), bits);
    if (bits >= best_.bits) return;
    best_.bits = bits;
    best_.parameters = p;
  }

  struct Solution {
    int columns = 0;
    double cost = 1e300;  // on the samples of the fit
    float c[max_groups];
  };

  void fitted(double start, int weights) {
    Solution solutions[stencil_count];
    for (int s = 0; s < stencil_count; s++) solutions[s].columns = groups_of(u8(s)) - 1;
    if (s_.count_ < 400) solutions[stencil_wide].columns = solutions[stencil_long].columns = 0;
    int first = 0, last = solutions[2].columns > 0 ? 2 : solutions[1].columns > 0 ? 1 : 0;
    double lowest = start;
    int n = 0;
    for (int iteration = 0; iteration < o_.iterations; iteration++) {
      n = solutions[last].columns;
      const float* used[max_groups + 1];
      std::copy(column_, column_ + n, used);
      used[n] = s_.target();
      kernels().fit.products(used, n + 1, s_.weight(weights), n_, a_);
      eliminate(a_, n);
      double reached = 1e300;
      int next = weights;
      for (int s = first; s <= last; s++) {
        double x[max_groups];
        Solution& best = solutions[s];
        if (best.columns <= 0 || !solve(a_, n, best.columns, x)) continue;
        Solution trial;
        for (int g = 0; g < best.columns; g++) trial.c[g] = float(x[g]);
        const int spare = next == weights ? (weights + 1) % 3 : 3 - weights - next;  // the one of three arrays that is free
        const double c = cost(trial.c, best.columns, spare, soft_of(lowest, 1));
        if (c < reached) {
          reached = c;
          next = spare;
        }
        if (c >= best.cost) continue;
        best.cost = c;
        std::copy(trial.c, trial.c + best.columns, best.c);
      }
      // Continue with the stencil that will be cheapest.
      double cheapest = 1e300;
      int choice = first;
      for (int s = first; s <= last; s++) {
        const double bits = with_effort(StencilId(s), solutions[s].cost * scale_ + (per_weight_ + 9) * solutions[s].columns);
        if (solutions[s].columns <= 0 || bits >= cheapest) continue;
        cheapest = bits;
        choice = s;
      }
      if (!(cheapest < 1e299)) return;
      first = last = choice;
      weights = next;
      if (!(reached < lowest * (1 - settled))) break;
      lowest = std::min(lowest, reached);
    }
    quantized(StencilId(first), solutions[first], n);
  }

  // The cost of rounding the weights, from the quadratic form of the last elimination with n unknowns.
  double rounding(const Solution& s, int n, double unit) const {
    double error[max_groups], sum = 0;
    for (int i = 0; i < s.columns; i++) error[i] = double(s.c[i]) - round_even(double(s.c[i]) * unit) / unit;
    for (int i = 0; i < s.columns; i++) {
      const double* row = a_ + i * (n + 1);
      if (!(row[i] >= 1e-29)) continue;
      double v = 0;
      for (int j = i; j < s.columns; j++) v += row[j] * error[j];
      sum += v * v / row[i];
    }
    return 0.72 * sum;
  }

  void quantized(StencilId stencil, const Solution& s, int n) {
    double least = 1e300;
    int chosen = 0;
    for (int precision : {4, 6, 8, 11, 15, 20}) {
      const double unit = double(i64(1) << precision), bits = naming(s, unit) + scale_ * rounding(s, n, unit);
      if (bits >= least) continue;
      least = bits;
      chosen = precision;
    }
    ClassParameters p;
    p.stencil = u8(stencil);
    p.precision = u8(chosen);
    const double unit = double(i64(1) << chosen);
    float c[max_groups];
    for (int k = 0; k < s.columns; k++) {
      p.weight[group_[k]] = i32(round_even(double(s.c[k]) * unit));
      c[k] = float(p.weight[group_[k]] / unit);
    }
    consider(p, cost(c, s.columns, -1) * scale_ + naming(s, unit) + per_weight_ * s.columns);
  }

  static double naming(const Solution& s, double unit) {
    double bits = 6;
    for (int k = 0; k < s.columns; k++) {
      const double w = __builtin_fabs(round_even(double(s.c[k]) * unit));
      bits += 2 + 1.3 * floor_log2(u64(w) + 1);
    }
    return bits;
  }

  // The bits that name a prediction in a stream, about.
  static double naming(const Prediction& p) {
    const auto of_number = [](i64 number) { return 2 + 1.3 * floor_log2(u64(number < 0 ? -number : number) + 1); };
    double bits = 6;
    for (int g = 0; g < p.groups; g++) bits += p.weight[g] ? of_number(p.weight[g]) : 2;
    if (!p.feedback.any) return bits;
    for (const auto& of_parity : p.feedback.before)
      for (const i16 weight : of_parity) bits += of_number(weight);
    return bits + 8 + of_number(p.feedback.beside);
  }

  static constexpr double settled = 0.01;  // relative gain below which iterations stop

  FitSamples& s_;
  const FitOptions& o_;
  int n_, columns_ = 0;
  const float* column_[max_groups];
  int group_[max_groups];
  double scale_, per_weight_;
  double a_[max_groups * (max_groups + 1)];
  Fit best_{{}, 1e300};
};

Fit fit_class(FitSamples& samples, const FitOptions& options) {
  if (samples.count() == 0) {
    Fit none;
    none.parameters.groups = u8(options.standard_groups);
    return none;
  }
  STZ_STAGE(weights);
  return ClassFit(samples, options).best();
}

Fit cheapest_linear(FitSamples& samples, const FitOptions& options, const std::vector<const Prediction*>& candidates) {
  STZ_STAGE(weights);
  return ClassFit(samples, options).cheapest(candidates);
}

}  // namespace stz
