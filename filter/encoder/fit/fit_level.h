// Chooses the parameters of a level: prediction, mean and models of every parity class (encoder only).
#pragma once
#include "encoder/fit/sampled_boxes.h"

namespace stz {

// The bits that a refinement (format/layers.h) adds to the codes of a level.
struct FittedRefinement {
  int before = 0, after = 0;       // number of unknown low bits before and after it
  ClassParameters parameters[16];  // only mean and models are used
  bool any() const { return before != after; }
  AddedBits added_to(const ClassParameters& of_level) const {
    return added_bits(before - after, of_level.mean, of_level.unknown_bits - after);
  }
};

template <class S>
struct FittedLevel {
  ClassParameters parameters[16];
  bool as_bytes[16] = {};  // whether the codes of a class are kept as bytes while the level is fitted
  std::vector<FittedRefinement> refinements;
  double class_bits[16] = {};  // estimated size of the codes of each class, as if nothing was masked
  double bits = 0;             // of all classes
  bool exact = false;          // the boxes are all the blocks, coded with these parameters
  std::vector<SampledBox<S>> boxes;
};

// `state`: the coarser level, and the parameters of all coarser ones.
template <class S>
FittedLevel<S> fit_level(const LevelSource<S>& source, const LevelState<S>& state, size_t l, int threads);
// Computes parameters and bits from fitted.boxes. The boxes must be prepared for widest_stencil(); they are coded here. `coarser`: the
// parameters of the coarser levels.
template <class S>
void fit_boxes(const LevelSource<S>& source, const ParameterState& coarser, size_t l, int threads, FittedLevel<S>& fitted);
inline StencilId widest_stencil(const Level& level) {
  return __builtin_popcount(unsigned(level.active_mask())) <= most_axes_of_long_stencil ? stencil_long : stencil_wide;
}

}  // namespace stz
