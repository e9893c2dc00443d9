// What the environment says of how to work, for the filter and for Python.
#pragma once

namespace stz::hdf5 {

// The number of threads that H5STZ_THREADS allows: decimal digits that make 1 or more, at most 255 of it (what client data can
// hold). 0 if the variable is missing or says anything else. Read anew by every call.
int environment_threads();

}  // namespace stz::hdf5
