// Writes the base section (see base_section.h).
#pragma once
#include "encoder/block/level_source.h"

namespace stz {

// Returns the section. `state`: gets the base level.
template <class S>
Bytes encode_base_section(const LevelSource<S>& source, LevelState<S>& state);

}  // namespace stz
