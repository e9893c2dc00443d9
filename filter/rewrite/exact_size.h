// About how many bytes an array takes without loss, at a small part of the time that it takes to find out.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Compresses boxes of the array, at places that cover it evenly, as `lossless` says. Rather too high than too low: small boxes compress
// worse than large ones, but what compresses well and lies between the boxes is missed.
u64 estimate_exact_size(const stz_layout& layout, const u8* data, const stz_options& lossless);

}  // namespace stz
