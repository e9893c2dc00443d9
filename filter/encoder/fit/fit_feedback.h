// Chooses the weights of residual feedback (predict/feedback.h) of a class (encoder only).
//
// The residual of a sample depends on the weights, so they are fitted in closed loop. A trial codes samples with some weights. Weighted
// least squares then fit the difference of each sample from the stencil's prediction by the residuals before it, which gives the weights of
// the next trial. The best trial wins if it saves enough; its size is estimated from the entropy of the codes in their contexts. Trials
// need these differences only, which feedback does not change.
#pragma once
#include "encoder/fit/sampled_boxes.h"

namespace stz {

struct FeedbackOptions {
  bool may_be_bytes = false;  // the quantizer allows codes that are bytes
  bool as_bytes = false;      // whether the codes will be bytes if there are too few samples to decide
  double least_gain = 0;      // share of the bits that feedback must save
  u64 class_samples = 0;      // all samples of the class: sizes are scaled to them
  u64 samples = 0;            // about the number of samples to fit on
  int trials = 0;
  double step = 1;  // the quantization step
};

struct FeedbackFit {
  FeedbackParameters parameters;
  bool as_bytes = false;  // the class's codes will be bytes
};

// `boxes`: with their contexts, the original samples of the class, and all other samples that its stencil reads.
template <class S>
FeedbackFit fit_feedback(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, const FeedbackOptions& options, int threads);

}  // namespace stz
