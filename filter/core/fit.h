// Fits the prediction of a class on samples of its blocks (encoder only; the decoder reads the result).
//
// Iteratively re-weighted least squares with weight 1 / (|residual| + bound)^2: plain least squares is ruined by a few steep samples.
// Candidates are compared by the sampled cost sum log2(1 + |residual| / bound), near to bits, plus the bits that name them.
// Uses + - x / only, in a fixed order: the same input gives the same parameters everywhere.
#pragma once
#include "block_codec.h"

namespace stz {

// Samples of one class for the fit: targets and, per group of the stencil, the mean of its taps relative to the mean of the cubics, all
// in units of the bound.
class FitSamples {
 public:
  // `groups`: of the widest stencil to be tried.
  FitSamples(int groups, size_t capacity);
  // One run of n neighbouring samples: sums of the groups (pitch apart), the values of samples x[stride * i].
  template <class S>
  void add_run(const LaidOut& laid_out, const RealOf<S>* sums, std::ptrdiff_t pitch, const S* x, int stride, int n, const u8* masked,
               double bound, const RealOf<S>* median, const RealOf<S>* median_faces);
  bool full() const { return count_ + 16 > capacity_; }
  size_t count() const { return count_; }

 private:
  friend class ClassFit;
  size_t capacity_, pitch_, count_ = 0;
  int groups_;
  std::vector<float> m_, y_, median_[2];
};

struct FitOptions {
  u64 class_samples = 0;                                      // what the class has in all: costs are scaled to it
  int standard_groups = 0, wide_groups = 0, long_groups = 0;  // 0: stencil not tried
  bool medians = true;
  const ClassParameters* coarser = nullptr;  // same class of the coarser level
};

// The cheapest parameters (predictor, stencil, precision, weights).
ClassParameters fit_class(FitSamples& samples, const FitOptions& options);

}  // namespace stz
