// The settings of each effort of the encoder. This table is the only place; docs/benchmarks.md shows their effect.
#pragma once
#include "base/common.h"

namespace stz {

enum class Trials { none, promising, all };  // promising: only if a few samples show that a trial may win

struct Effort {
  // weights of stencils
  u64 boxed_samples;  // samples of a large level in boxes that are coded to fit its parameters
  u64 fewest_fitted;  // fewest samples to fit the weights of a class on (all, if the class has fewer)
  u64 most_fitted;
  int iterations;
  bool wide_stencils;
  // Share of the bits of a class of level 0 that wider stencils must save to pay for their time. A fifth of it is enough if the whole level
  // is used to fit: fits then take most of the time.
  double wide_saves;
  bool medians;
  // Residual feedback:
  int feedback_trials;    // 1: none
  u64 feedback_samples;   // most samples of a class to fit on
  double feedback_saves;  // like wide_saves
  // the whole stream
  bool axis_trials;  // try to halve some axes late
  Trials palette, edge_mode;
  bool level_ratio_trials;  // bounds of coarser levels that fall slowly are tried, unless the mean error counts
  bool form_trials;         // so are more series of bounds, larger blocks and the fits of the default effort
};

constexpr int default_effort = 5;

inline const Effort& effort_of(int effort) {
  constexpr u64 k = 1024;
  using enum Trials;
  static constexpr Effort efforts[] = {
      {64 * k, 512, 1500, 1, false, 0, false, 1, 0, 0, false, none, none, false, false},
      {64 * k, 1024, 3000, 2, false, 0, false, 1, 0, 0, true, promising, promising, false, false},
      {128 * k, 2048, 4000, 3, true, 0.05, false, 1, 0, 0, true, promising, promising, false, false},
      {256 * k, 2048, 6000, 3, true, 0.05, true, 3, 8 * k, 0.02, true, promising, promising, false, false},
      {256 * k, 2048, 6000, 3, true, 0.05, true, 4, 20 * k, 0.003, true, promising, promising, false, false},
      {256 * k, 2048, 6000, 3, true, 0.005, true, 5, 16 * k, 0.005, true, promising, promising, false, false},
      {256 * k, 4096, 8000, 4, true, 0.005, true, 6, 32 * k, 0.002, true, promising, promising, true, false},
      {512 * k, 4096, 12000, 4, true, 0.002, true, 6, 64 * k, 0, true, promising, promising, true, false},
      {1024 * k, 8192, 24000, 6, true, 0, true, 8, 128 * k, 0, true, promising, all, true, true},
  };
  return efforts[(effort ? effort : default_effort) - 1];
}

}  // namespace stz
