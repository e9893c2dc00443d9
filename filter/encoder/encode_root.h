// Writes the root section (see root.h).
#pragma once
#include "encoder/level_source.h"

namespace stz {

// Returns the section; `state` receives level root.
template <class S>
Bytes encode_root(const LevelSource<S>& source, LevelState<S>& state);

}  // namespace stz
