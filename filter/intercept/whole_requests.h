// Reads and writes of whole datasets by several threads, for programs that call H5Dread and H5Dwrite. Called by our replacements of them.
//
// The variable H5STZ_RUN_THREADS is the number of threads (default: 1, all is left to HDF5). State: which datasets threads cannot read or
// write, which datasets HDF5 itself has written to, and counters, which are appended to the file of H5STZ_RUN_STATS at exit.
#pragma once
#include "intercept/program_reads.h"

namespace stz::intercept {

// Whether the functions below may do anything: with one thread, and no statistics, they need not be called.
bool threads_are_wanted() noexcept;

// Return true if everything is read or written. Otherwise H5Dread or H5Dwrite must do all of it; they also report errors. The dataset of
// the key is that of the request.
bool read_whole_by_threads(const hdf5::Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept;
bool write_whole_by_threads(const hdf5::Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept;

// Call it when the dataset of this key is closed.
void forget_whole(DatasetKey key) noexcept;

}  // namespace stz::intercept
