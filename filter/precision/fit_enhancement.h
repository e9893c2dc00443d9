// The weights of an enhancement (format/enhancement.h), by ridge regression on samples of the array.
#pragma once
#include "format/enhancement.h"

namespace stz {

// Samples that were chosen for the fit: features in 1/2048 half steps, and what is to be corrected, in half steps.
struct EnhancementSamples {
  size_t features;  // of each sample
  std::vector<i16> feature;
  std::vector<float> missing;
  std::vector<u8> set;
  size_t count() const { return missing.size(); }
};

// An enhancement without its promise, and the mean squared errors without and with it, of these samples in squared half steps.
struct FittedEnhancement {
  Enhancement enhancement;
  double before = 0, after = 0;
};

// The best weights of either kind, with a limit for which a larger one gains little more.
FittedEnhancement fit_enhancement(const EnhancementShape& shape, const EnhancementSamples& samples, bool shared);

}  // namespace stz
