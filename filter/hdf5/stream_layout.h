// Compares the layout of a stream with that of the dataset's chunks. A chunk that was written directly, or that a damaged index points
// to, can be any stream.
#pragma once
#include "stz.h"

namespace stz::hdf5 {

// True if the samples have the same bits: equal types and byte orders. Signed and unsigned integers of one size count as equal, as a
// stream that was written directly may give a bool either type. A single byte has no order.
bool same_samples(const stz_layout& stream, const stz_layout& chunk);

// True if the samples lie in the same order: the extents are equal, apart from axes of length 1. (An array of shape 1 x 40 x 30 may be
// written directly as one of 40 x 30. Other extents of the same product would give garbage.)
bool same_raster(const stz_layout& stream, const stz_layout& chunk);

// True if the extents are equal axis by axis.
bool same_shape(const stz_layout& stream, const stz_layout& chunk);

}  // namespace stz::hdf5
