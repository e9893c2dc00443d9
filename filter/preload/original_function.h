// The functions of HDF5 whose place this library takes.
#pragma once

namespace stz::preload {

// The function of this name that the program at `return_address` would call if this library were not there: that of the HDF5 which it
// uses, or else the next one that the dynamic linker finds. Null if there is none. Thread-safe.
void* original_function(const void* return_address, const char* name) noexcept;

}  // namespace stz::preload
