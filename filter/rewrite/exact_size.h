// Estimates the lossless size of an array in a small part of the time that compressing it takes.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Compresses boxes at evenly spread places with the options `lossless`. The estimate tends to be too high, because small boxes compress
// worse than large ones. It misses well-compressible regions between the boxes.
u64 estimate_exact_size(const stz_layout& layout, const u8* data, const stz_options& lossless);

}  // namespace stz
