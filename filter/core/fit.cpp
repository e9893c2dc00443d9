#include "fit.h"

#include <algorithm>

namespace stz {

FitSamples::FitSamples(int groups, size_t capacity)
    : capacity_((capacity + 15) / 16 * 16), pitch_(capacity_), groups_(groups), m_(pitch_ * size_t(groups)), y_(pitch_) {
  for (auto& v : median_) v.resize(pitch_);
}

template <class S>
void FitSamples::add_run(const LaidOut& laid_out, const RealOf<S>* sums, std::ptrdiff_t pitch, const S* x, int stride, int n,
                         const u8* masked, double bound, const RealOf<S>* median, const RealOf<S>* median_faces) {
  const int odd = laid_out.odd;
  double inverse[max_groups], unit = 1 / bound;
  for (int g = 0; g < groups_; g++) inverse[g] = 1.0 / laid_out.taps[size_t(g)];
  for (int i = 0; i < n && count_ < capacity_; i++) {
    if (masked && masked[i]) continue;
    double cubic = 0, means[max_groups];
    for (int g = 0; g < groups_; g++) means[g] = double(sums[g * pitch + i]) * inverse[g];
    for (int k = 0; k < odd; k++) cubic += (9 * means[k] - means[odd + k]) / (8 * odd);
    double y = (double(x[stride * i]) - cubic) * unit;
    if (!(__builtin_fabs(y) < 1e15)) continue;
    bool usable = true;
    for (int g = 0; g < groups_; g++) {
      double m = (means[g] - cubic) * unit;
      usable &= __builtin_fabs(m) < 1e15;
      m_[size_t(g) * pitch_ + count_] = float(m);
    }
    if (!usable) continue;
    y_[count_] = float(y);
    if (median) {
      median_[0][count_] = float((double(x[stride * i]) - double(median[i])) * unit);
      median_[1][count_] = float((double(x[stride * i]) - double(median_faces[i])) * unit);
    }
    count_++;
  }
}
template void FitSamples::add_run<float>(const LaidOut&, const float*, std::ptrdiff_t, const float*, int, int, const u8*, double,
                                         const float*, const float*);
template void FitSamples::add_run<double>(const LaidOut&, const double*, std::ptrdiff_t, const double*, int, int, const u8*, double,
                                          const double*, const double*);
template void FitSamples::add_run<i64>(const LaidOut&, const double*, std::ptrdiff_t, const i64*, int, int, const u8*, double,
                                       const double*, const double*);

namespace {

// Normal equations, Gauss with pivoting; `a` holds the upper triangle. False if singular.
bool solve(double* a, double* b, int n, double* x) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) a[i * n + k] = a[k * n + i];
  }
  for (int i = 0; i < n; i++) a[i * n + i] = a[i * n + i] * (1 + 1e-6) + 1e-30;
  for (int i = 0; i < n; i++) {
    int pivot = i;
    for (int k = i + 1; k < n; k++)
      if (__builtin_fabs(a[k * n + i]) > __builtin_fabs(a[pivot * n + i])) pivot = k;
    if (!(__builtin_fabs(a[pivot * n + i]) >= 1e-29)) return false;
    if (pivot != i) {
      std::swap_ranges(a + pivot * n, a + pivot * n + n, a + i * n);
      std::swap(b[pivot], b[i]);
    }
    for (int k = i + 1; k < n; k++) {
      double f = a[k * n + i] / a[i * n + i];
      for (int j = i; j < n; j++) a[k * n + j] -= f * a[i * n + j];
      b[k] -= f * b[i];
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
    x[i] = b[i];
    if (!(__builtin_fabs(x[i]) < 64)) return false;
  }
  return true;
}

}  // namespace

class ClassFit {
 public:
  ClassFit(FitSamples& s, const FitOptions& o)
      : s_(s),
        o_(o),
        n_(int((s.count_ + 15) / 16 * 16)),
        residual_(size_t(n_) + 16),
        weight_(residual_.size()),
        scratch_(residual_.size()) {
    for (size_t k = s.count_; k < size_t(n_); k++) {
      s.y_[k] = 0;
      for (auto& v : s.median_) v[k] = 0;
      for (int g = 0; g < s.groups_; g++) s.m_[size_t(g) * s.pitch_ + k] = 0;
    }
    scale_ = double(o.class_samples) / double(s.count_);
  }

  ClassParameters best() {
    const float zero[max_groups] = {};
    consider({}, cost(zero, 0) + 1);
    // an axis of one sample at the coarser level makes its groups other ones
    if (o_.coarser && o_.coarser->precision && o_.coarser->groups == groups_of(o_.coarser->stencil)) {
      float c[max_groups] = {};
      double unit = 1.0 / double(i64(1) << o_.coarser->precision);
      for (int g = 0; g < o_.coarser->groups; g++) c[g] = float(o_.coarser->weight[g] * unit);
      consider(*o_.coarser, cost(c, o_.coarser->groups) + 2);
    }
    if (s_.count_ >= 60) {
      fitted(stencil_standard, o_.standard_groups);
      if (s_.count_ >= 400) {
        fitted(stencil_wide, o_.wide_groups);
        fitted(stencil_long, o_.long_groups);
      }
    }
    if (o_.medians && s_.count_ >= 60) {
      const float none[1] = {};
      for (int k = 0; k < 2; k++) {
        double c =
            fit_kernels().residuals(s_.m_.data(), std::ptrdiff_t(s_.pitch_), s_.median_[k].data(), none, 0, n_, residual_.data()) * scale_;
        if (c + 4 < best_cost_ * 0.98) {
          ClassParameters p;
          p.predictor = k == 0 ? predict_median : predict_median_faces;
          consider(p, c + 4);
        }
      }
    }
    best_.groups = u8(groups_of(best_.stencil));
    return best_;
  }

 private:
  int groups_of(u8 stencil) const {
    return stencil == stencil_standard ? o_.standard_groups : stencil == stencil_wide ? o_.wide_groups : o_.long_groups;
  }
  static const FitKernels& fit_kernels() { return kernels().fit; }
  double cost(const float* c, int groups) {
    return fit_kernels().residuals(s_.m_.data(), std::ptrdiff_t(s_.pitch_), s_.y_.data(), c, groups, n_, residual_.data()) * scale_;
  }
  void consider(const ClassParameters& p, double bits) {
    if (bits >= best_cost_) return;
    best_cost_ = bits;
    best_ = p;
  }

  void fitted(StencilId stencil, int groups) {
    if (!groups || groups > s_.groups_) return;
    double a[max_groups * max_groups], b[max_groups], next[max_groups];
    float best[max_groups] = {}, current[max_groups] = {}, trial[max_groups] = {};
    double best_cost = cost(current, groups);
    for (int iteration = 0; iteration < 6; iteration++) {
      if (iteration == 0)
        std::fill(weight_.begin(), weight_.begin() + n_, 1.0f);
      else {
        cost(current, groups);
        for (int k = 0; k < n_; k++) {
          float d = residual_[size_t(k)] + 1.0f;
          weight_[size_t(k)] = 1.0f / (d * d);
        }
      }
      fit_kernels().normal_equations(s_.m_.data(), std::ptrdiff_t(s_.pitch_), s_.y_.data(), weight_.data(), groups, n_, scratch_.data(), a,
                                     b);
      if (!solve(a, b, groups, next)) break;
      for (int g = 0; g < groups; g++) trial[g] = float(next[g]);
      double c = cost(trial, groups), before = best_cost;
      if (c < best_cost) {
        best_cost = c;
        std::copy(trial, trial + groups, best);
      } else if (iteration > 2)
        break;
      std::copy(c < best_cost * 1.2 ? trial : best, (c < best_cost * 1.2 ? trial : best) + groups, current);
      if (iteration > 1 && c > before * 0.9995 && c < before) break;  // converged
    }
    for (int precision : {4, 6, 8, 11, 15, 20}) {
      ClassParameters p;
      p.stencil = u8(stencil);
      p.precision = u8(precision);
      double unit = double(i64(1) << precision), bits = 6;
      float c[max_groups];
      for (int g = 0; g < groups; g++) {
        p.weight[g] = i32(round_even(double(best[g]) * unit));
        c[g] = float(p.weight[g] / unit);
        bits += 2 + 1.3 * floor_log2(u64(p.weight[g] < 0 ? -p.weight[g] : p.weight[g]) + 1);
      }
      consider(p, cost(c, groups) + bits);
    }
  }

  FitSamples& s_;
  const FitOptions& o_;
  int n_;
  double scale_, best_cost_ = 1e300;
  ClassParameters best_;
  std::vector<float> residual_, weight_, scratch_;
};

ClassParameters fit_class(FitSamples& samples, const FitOptions& options) {
  if (samples.count() == 0) {
    ClassParameters p;
    p.groups = u8(options.standard_groups);
    return p;
  }
  return ClassFit(samples, options).best();
}

}  // namespace stz
