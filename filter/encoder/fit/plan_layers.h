// Chooses how the codes (quantization indices) of an array are split into precision layers (encoder only).
#pragma once
#include "encoder/block/level_source.h"

namespace stz {

// Plans the layers. Returns none if the plan wants fewer than two, or if no level could be split.
template <class S>
Layers plan_layers(const Plan<S>& plan, const LevelSource<S>& source);

}  // namespace stz
