// Chooses the parameters of a level: prediction, mean and models of every parity class (encoder only).
#pragma once
#include "encoder/sampled_boxes.h"

namespace stz {

template <class S>
struct FittedLevel {
  ClassParameters parameters[16];
  double bits = 0;     // estimated size of all codes
  bool exact = false;  // the boxes are the blocks, coded with these parameters
  std::vector<SampledBox<S>> boxes;
};

// `state`: the coarser level, and the parameters of all coarser ones.
template <class S>
FittedLevel<S> fit_level(const LevelSource<S>& source, const LevelState<S>& state, size_t l, int threads);

}  // namespace stz
