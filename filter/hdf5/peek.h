// Looking at memory that may have been freed or unmapped since: HDF5 does not tell when it frees the buffer of a chunk.
#pragma once
#include "base/common.h"

namespace stz::hdf5 {

// Eight bytes at each of `count` addresses: `words` gets them, `readable` whether they are there. False where the system refuses.
bool peek(const uintptr_t* addresses, size_t count, u64* words, bool* readable) noexcept;

// Does the memory at `address` hold these bytes now? False if it is not there.
bool holds(uintptr_t address, const void* expected, size_t bytes) noexcept;

}  // namespace stz::hdf5
