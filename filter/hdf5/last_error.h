// The filter's latest error in this process, for hosts whose HDF5, or a layer above it, drops the error stack.
#pragma once
#include "base/message.h"

namespace stz::hdf5 {

// Keeps the message for stz_h5_last_error, and prints it if H5STZ_STDERR is 1. Thread-safe. Takes no lock, which a fork could leave held,
// and allocates no memory.
void record_error(const char* callback, const Message& message) noexcept;

}  // namespace stz::hdf5
