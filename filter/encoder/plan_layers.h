// Chooses how the codes (quantization indices) of an array are split into precision layers (encoder only).
#pragma once
#include "encoder/level_source.h"

namespace stz {

// As the header asks for them (wanted_layers, wanted_unknown_bits). None if fewer than two are wanted, or no level could have any.
template <class S>
Layers plan_layers(const LevelSource<S>& source);

}  // namespace stz
