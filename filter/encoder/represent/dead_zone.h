// A wide dead zone of the uniform quantizer: samples a little farther than half a step from their prediction also get the index 0. Zeros
// are cheap, and many zeros make their neighbours cheaper. Errors in the dead zone are larger, so steps are made smaller until the bound
// holds again. A stream then has a lower mean squared error per byte, but more bytes at the same bound. Decoders need not know about it.
//
// The widths gave the fewest bytes at the PSNR of a relative bound of 1e-2 over the development fields (docs/decisions/18-enhancement.md).
#pragma once
#include <algorithm>

#include "coding/quantize.h"

namespace stz {

constexpr double finest_dead_zone = 0.65, coarser_dead_zone = 0.55;  // to either side, in steps; 0.5 is no dead zone at all

// Half the step of level 0 with which a dead zone keeps the bound that `half_step` keeps without one.
inline double half_step_with_dead_zone(double half_step) { return half_step / (2 * finest_dead_zone); }

// Sets these dead zones, or narrower ones if the bound requires it.
template <class S>
void set_dead_zone(Quantizer<S>& q, size_t level) {
  const double most = q.bound / (2 * q.level_bound), wanted = level ? coarser_dead_zone : finest_dead_zone;
  if (q.kind == QuantizerKind::uniform && most > 0.5) q.fast.dead_zone = RealOf<S>(std::min(most, wanted));
}

}  // namespace stz
