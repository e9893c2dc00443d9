// Chooses how the codes (quantization indices) of an array are split into precision layers (encoder only).
#pragma once
#include "encoder/block/level_source.h"

namespace stz {

// The layers that the plan wants. None if it wants fewer than two, or no level could have any.
template <class S>
Layers plan_layers(const Plan<S>& plan, const LevelSource<S>& source);

}  // namespace stz
