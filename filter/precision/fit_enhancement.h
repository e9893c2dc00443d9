// Fits the weights of an enhancement (format/enhancement.h) by ridge regression on samples of the array.
#pragma once
#include "format/enhancement.h"

namespace stz {

// Samples for the fit: features in 1/2048 half steps, and the errors to correct in half steps.
struct EnhancementSamples {
  size_t features;  // number of features of each sample
  std::vector<i16> feature;
  std::vector<float> missing;
  std::vector<u8> set;
  size_t count() const { return missing.size(); }
};

// An enhancement without its promise, and the sums of squared errors of these samples without and with it, in squared half steps.
struct FittedEnhancement {
  Enhancement enhancement;
  double before = 0, after = 0;
};

// Fits the weights, with or without sharing, and chooses the smallest limit that has most of the gain.
FittedEnhancement fit_enhancement(const EnhancementShape& shape, const EnhancementSamples& samples, bool shared);

}  // namespace stz
