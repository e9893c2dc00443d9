// The size of a stream, in bytes, and its mean squared error before an array is compressed.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Estimates a large array from samples. Encodes a small array, or one whose estimate codes all of it, and measures the stream: `exact`
// is 1.
stz_size_estimate size_estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
