// Finds the value that stands for "no data" in a chunk when nobody has named it: HDF5 does not show the filter netCDF's
// _FillValue attribute, nor what a simulation writes on land. Found or not, the bound holds: samples of that value are merely
// coded as a mask, bit for bit.
#pragma once
#include "stz.h"

namespace stz::hdf5 {

// Sets options.has_fill and options.fill if `data` has such a value. Options with a fill value stay as they are.
// The result depends on the chunk alone, so the same chunk always gives the same bytes.
void find_missing_value(const stz_layout& layout, const void* data, stz_options& options);

}  // namespace stz::hdf5
