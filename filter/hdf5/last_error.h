// The filter's latest error in this process, for hosts whose HDF5, or whose layer above it, drops what is on the error stack.
#pragma once
#include "base/message.h"

namespace stz::hdf5 {

// Keeps the message for stz_h5_last_error, and prints it where H5STZ_STDERR is 1. Thread-safe; takes no lock (a fork cannot leave one held)
// and no memory.
void record_error(const char* callback, const Message& message) noexcept;

}  // namespace stz::hdf5
