// Reads of programs that know nothing of partial reads: what h5stz run has put in the place of H5Dread asks here.
//
// A chunk that fits into HDF5's chunk cache is left to HDF5, which decodes it once; so is everything that region/read.h leaves to it.
// State: the blocks decoded last (region/kept_readers.h); which datasets gain nothing, so that small reads of them stay quick; and
// counters, which the end of the process writes to the file named by H5STZ_RUN_STATS, if it is set.
#ifndef STZ_TRANSPARENT_PROGRAM_READS_H
#define STZ_TRANSPARENT_PROGRAM_READS_H

#include <cstdint>

#include "region/calls.h"

namespace stz::transparent {

// The arguments of H5Dread.
struct ReadArguments {
  region::Id dataset, memory_type, memory_space, file_space, transfer;
  void* buffer;
};

// What a dataset is remembered by: a library, or whatever else makes the number unique, and its id or address. A key may come to mean
// another dataset: that costs the gain, and no more.
using DatasetKey = uint64_t;
DatasetKey key_of(const void* library, uint64_t dataset) noexcept;

// Can there be anything to gain by read_needed_blocks? Takes no time, and is to be asked first.
bool may_pay(DatasetKey key, region::Id file_space) noexcept;

// The dataset of this key is closed.
void forget(DatasetKey key) noexcept;

// True if the samples are in the buffer. Else H5Dread has to read all of them: it also says what is wrong with them.
bool read_needed_blocks(const region::Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept;

// Counts a read.
void count_read(bool through_hdf5) noexcept;

}  // namespace stz::transparent

#endif
