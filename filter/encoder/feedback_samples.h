// Samples that residual feedback is fitted on: boxes of a class, as differences from the stencil's prediction in steps, and trials that
// code them (encoder only).
#pragma once
#include "encoder/choose_models.h"
#include "encoder/sampled_boxes.h"

namespace stz {

constexpr int feedback_columns = 4;  // what weights multiply: residuals before a sample along axes 2, 1 and 0, and both neighbours

// Samples of even or of odd index along axis 3, all boxes, row after row; rows are padded to multiples of 16.
struct FeedbackSamples {
  Buffer<float> difference, valid, residual, share, column[feedback_columns];
  Buffer<u8> context, bin;
  size_t count = 0;  // with padding
};

class FeedbackTrials {
 public:
  // About `wanted` samples of the class.
  template <class S>
  FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted);
  u64 samples() const { return samples_; }
  int terms() const { return terms_; }
  int axis(int term) const { return axis_[term]; }
  // Codes all samples. Returns the bits of their codes; `columns` and `share` are those of this trial then.
  double run(const FeedbackParameters& p);
  // Of the last trial: the mean |error|, and how many codes are no bytes.
  double mean_size() const { return size_ / double(samples_); }
  u64 wide() const { return wide_; }
  const FeedbackSamples& of_parity(int parity) const { return parity_[parity]; }

 private:
  // A part of a box: what is outside counts as residual 0.
  struct Window {
    Index n;
    size_t first[2];  // of its samples in `parity_`
    i64 pitch[2];     // of their rows
  };
  template <class S>
  void add_window(SampledBox<S>& box, int cls, const ClassParameters& p, const Index& low, const Index& n, RealOf<S> per_step);
  void run_window(const Window& window, FeedbackFitRow& even, FeedbackFitRow& odd);
  double bits();

  int terms_ = 0, axis_[3];  // residuals before a sample that may count are along these axes
  u64 samples_ = 0, wide_ = 0;
  double size_ = 0;  // sum of |difference|, or of |error| in the last trial
  FeedbackSamples parity_[2];
  std::vector<Window> windows_;
  Buffer<float> zeros_;
  u32 count_[2][contexts + 1][256];
};

}  // namespace stz
