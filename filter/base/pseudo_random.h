// A linear congruential generator for the places of samples that the encoder looks at, so that a stream depends on nothing but the array.
#pragma once
#include "base/common.h"

namespace stz {

// The next 31 bits; the multiplier is Knuth's (MMIX).
inline u64 pseudo_random(u64& seed) { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; }

}  // namespace stz
