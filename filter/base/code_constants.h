// Numbers of the code streams that the format and the kernels share; docs/format.md states each.
#pragma once
#include "base/common.h"

namespace stz {

constexpr int contexts = 16;            // of a code: ranges of the expected activity
constexpr u32 rans_low = u32(1) << 15;  // states of rANS lie in [rans_low, 2^16 rans_low)
constexpr int max_lanes = 64;           // interleaved states of a stream
constexpr int max_groups = 32;          // groups of neighbours with one weight each

}  // namespace stz
