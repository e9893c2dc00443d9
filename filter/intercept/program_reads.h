// Partial reads for programs that call H5Dread. Called by our replacements of H5Dread.
//
// Chunks that fit into HDF5's chunk cache are left to HDF5, which decodes them once; so is everything that region/read.h does not read.
// State: the most recently decoded blocks (region/kept_readers.h); the datasets without gain, so that small reads of them stay fast; and
// counters, which are appended to the file of H5STZ_RUN_STATS at exit.
#pragma once
#include <cstdint>

#include "hdf5/calls.h"

namespace stz::intercept {

struct ReadArguments {
  hdf5::hid_t dataset, memory_type, memory_space, file_space, transfer;
  void* buffer;
};

// Identifies a dataset: a hash of the library and the dataset's id or address. A key may later mean another dataset, which then only loses
// the gain.
using DatasetKey = u64;
DatasetKey key_of(const void* library, u64 dataset) noexcept;

// Whether read_needed_blocks() can be a gain. A cheap test to make first.
bool worth_reading_directly(DatasetKey key, hdf5::hid_t file_space) noexcept;

// Call it when the dataset of this key is closed.
void invalidate(DatasetKey key) noexcept;

// Returns true if the samples are in the buffer. Otherwise H5Dread must read everything; it also reports errors.
bool read_needed_blocks(const hdf5::Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept;

void count_read(bool through_hdf5) noexcept;

// Counts chunks that were read without H5Dread, and their stored bytes.
void count_chunks(u64 chunks, u64 stored_bytes) noexcept;

}  // namespace stz::intercept
