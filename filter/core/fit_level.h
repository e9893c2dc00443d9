// Chooses the parameters of a level: prediction, mean and models of every class (encoder only).
#pragma once
#include "level_source.h"

namespace stz {

// A box of the level that was coded to learn from. Small levels are learned whole: their boxes are their blocks, in order.
template <class S>
struct SampledBox {
  u64 item;
  BlockWork<S> work;
};

template <class S>
struct FittedLevel {
  ClassParameters parameters[16];
  double bits = 0;     // estimated size of all codes
  bool exact = false;  // the boxes are the blocks, coded with these parameters
  std::vector<SampledBox<S>> boxes;
};

// `state`: the coarser level, and the parameters of all coarser ones.
template <class S>
FittedLevel<S> fit_level(const LevelSource<S>& source, const LevelState<S>& state, size_t l);

// A box ready to be coded: the original samples of its classes, class 0, its magnitudes and all masks are loaded.
template <class S>
void prepare_box(const LevelSource<S>& source, const LevelState<S>& state, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work);
// Predicts, quantises and reconstructs a class of a prepared box, its codes as bytes or as numbers.
template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work);

}  // namespace stz
