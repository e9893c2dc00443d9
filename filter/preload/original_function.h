// The HDF5 functions that this library replaces.
#pragma once

namespace stz::preload {

// The function of this name that the program at `return_address` would call without this library: that of the HDF5 it uses, or the next one
// that the dynamic linker finds. Null if there is none. Thread-safe.
void* original_function(const void* return_address, const char* name) noexcept;

}  // namespace stz::preload
