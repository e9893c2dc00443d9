// Samples that residual feedback is fitted on: boxes of a class, as differences from the stencil's prediction in steps, and trials that
// code them (encoder only).
#pragma once
#include "encoder/sampled_boxes.h"

namespace stz {

class FeedbackTrials {
 public:
  // About `wanted` samples of the class.
  template <class S>
  FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted);
  u64 samples() const { return samples_; }
  int terms() const { return terms_; }
  int axis(int term) const { return axis_[term]; }
  // Codes all samples.
  const FeedbackSums& run(const FeedbackParameters& p);
  // What the codes of the last trial take, by the entropy of their sizes in their contexts.
  double bits() const;

 private:
  // A part of a box: what is outside counts as residual 0.
  struct Window {
    Index n;
    size_t first;  // of its samples, both parities
    i64 rows() const { return n[0] * n[1] * n[2]; }
    i64 pitch() const { return ((n[3] + 1) / 2 + 15) / 16 * 16; }
    size_t of_parity() const { return size_t(rows() * pitch()); }
  };
  template <class S>
  void add_window(SampledBox<S>& box, int cls, const ClassParameters& p, const Index& low, const Window& window, RealOf<S> per_step);

  int terms_ = 0, axis_[3];  // residuals before a sample that may count are along these axes
  u64 samples_ = 0;
  double size_ = 0;  // mean |difference|, or |error| in the last trial
  FeedbackSums sums_;
  Buffer<float> differences_, residuals_;
  Buffer<u8> contexts_, keys_;
  std::vector<Window> windows_;
};

}  // namespace stz
