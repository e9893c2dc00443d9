// Estimates the size of a stream in bytes, and its mean squared error, before an array is compressed.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Large arrays are estimated from samples. Small arrays, and arrays whose estimate would code everything, are encoded and measured: then
// `exact` is 1.
stz_size_estimate size_estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
