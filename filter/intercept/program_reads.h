// Reads of programs that know nothing of partial reads: what h5stz run has put in the place of H5Dread asks here.
//
// A chunk that fits into HDF5's chunk cache is left to HDF5, which decodes it once; so is everything that region/read.h leaves to it.
// State: the blocks decoded last (region/kept_readers.h); which datasets gain nothing, so that small reads of them stay quick; and
// counters, which the end of the process writes to the file named by H5STZ_RUN_STATS, if it is set.
#pragma once
#include <cstdint>

#include "hdf5/calls.h"

namespace stz::intercept {

// The arguments of H5Dread.
struct ReadArguments {
  hdf5::hid_t dataset, memory_type, memory_space, file_space, transfer;
  void* buffer;
};

// What a dataset is remembered by: a library, or whatever else makes the number unique, and its id or address. A key may come to mean
// another dataset: that costs the gain, and no more.
using DatasetKey = u64;
DatasetKey key_of(const void* library, u64 dataset) noexcept;

// Can there be anything to gain by read_needed_blocks? Takes no time, and is to be asked first.
bool worth_reading_directly(DatasetKey key, hdf5::hid_t file_space) noexcept;

// The dataset of this key is closed.
void invalidate(DatasetKey key) noexcept;

// True if the samples are in the buffer. Else H5Dread has to read all of them: it also says what is wrong with them.
bool read_needed_blocks(const hdf5::Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept;

// Counts a read.
void count_read(bool through_hdf5) noexcept;

}  // namespace stz::intercept
