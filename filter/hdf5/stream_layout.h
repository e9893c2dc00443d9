// Does a stream hold a chunk of this dataset? The stream says what array it is, the dataset what its chunks are; a chunk that was written
// directly, or that a damaged index points to, can be any stream.
#pragma once
#include "stz.h"

namespace stz::hdf5 {

// The samples have the same bits: one type and byte order. Signed and unsigned integers of one size share their bits, as a stream that
// was written directly may call a bool either; a single byte has no order.
bool same_samples(const stz_layout& stream, const stz_layout& chunk);

// The samples lie in the same order: the extents are equal, but for axes of length 1, which either may have more of. (An array of shape
// 1 x 40 x 30 may be written directly as one of 40 x 30. Other extents of the same product would be garbage.)
bool same_raster(const stz_layout& stream, const stz_layout& chunk);

// The extents are equal axis by axis.
bool same_shape(const stz_layout& stream, const stz_layout& chunk);

}  // namespace stz::hdf5
