// The filter's number in HDF5 files. 32768..65535 is HDF5's range for private use; the build may set another one
// (-DSTZ_FILTER_ID=...) until The HDF Group has registered one.
#pragma once

#ifndef STZ_FILTER_ID
#define STZ_FILTER_ID 34765
#endif

static_assert(STZ_FILTER_ID >= 32768 && STZ_FILTER_ID <= 65535, "STZ_FILTER_ID must lie in HDF5's private range 32768..65535");
