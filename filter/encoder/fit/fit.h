// Fits the prediction of a parity class on samples of its blocks (encoder only; the decoder reads the result).
//
// Iteratively re-weighted least squares with weight 1 / (1 + |residual| / bound)^2: plain least squares is ruined by a few steep samples.
// One elimination per iteration serves all stencils, because the groups of each are a prefix of the next one's. Candidates are compared
// by the sampled cost sum log2(1 + |residual| / bound), near to bits, plus the bits that name them.
// Uses + - x / only, in a fixed order: the same input gives the same parameters everywhere.
#pragma once
#include <vector>

#include "predict/block_codec.h"

namespace stz {

constexpr int fit_run = 16;  // samples are collected in runs of at most that many neighbours along the last axis

// Samples of one class for the fit: targets and, per group of the stencil, the mean of its taps relative to the mean of the cubics, all
// in units of the bound. One object serves the classes of a level in turn.
class FitSamples {
 public:
  // `groups`, `capacity`: the most that any class needs.
  FitSamples(int groups, size_t capacity);
  void clear(int groups) { groups_ = groups, count_ = 0; }
  // Adds n <= 16 samples at row, without masked ones and those with useless numbers.
  template <class S>
  void add_run(const TapTable& taps, int odd, const S* row, int n, const u8* masked, double unit);
  bool full() const { return count_ + fit_run > capacity_; }
  size_t count() const { return count_; }
  double cost_of_cubics();  // of all samples, with the cubics alone

  // Targets relative to another prediction, to compute its cost only.
  void clear_alternatives() { alternative_count_ = 0; }
  template <class S>
  void add_alternative(const RealOf<S>* prediction, const S* row, int n, const u8* masked, double unit);
  double cost_of_alternative();  // mean per sample; infinite if there are none

 private:
  friend class ClassFit;
  float* row(int r) { return storage_.data() + size_t(r) * pitch_; }
  float* target() { return row(max_); }
  float* alternative() { return row(max_ + 1); }
  float* weight(int k) { return row(max_ + 2 + k); }
  static size_t pad(float* v, size_t n);  // zeros up to a multiple of 16
  int max_, groups_ = 0;
  size_t capacity_, pitch_, count_ = 0, alternative_count_ = 0;
  Buffer<float> storage_;
};

struct FitOptions {
  int iterations = 3;
  double wide_saves = 0;                                      // share of the bits that wider stencils than the standard one must save
  u64 class_samples = 0;                                      // all samples of the class: costs are scaled to them
  int odd = 0;                                                // its odd axes
  int standard_groups = 0, wide_groups = 0, long_groups = 0;  // 0: stencil not tried
  const ClassParameters* coarser = nullptr;                   // same class of the coarser level
};

struct Fit {
  ClassParameters parameters;
  double bits = 0;  // bits of the class, including its parameters
};

// The cheapest linear prediction: stencil, precision, weights.
Fit fit_class(FitSamples& samples, const FitOptions& options);
// The cheapest of some linear predictions, of no weights, and of those of the coarser level. The samples must have the groups of all.
Fit cheapest_linear(FitSamples& samples, const FitOptions& options, const std::vector<const Prediction*>& candidates);

}  // namespace stz
