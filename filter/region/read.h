// Reads a selection without H5Dread, or gives the reason why H5Dread has to read it.
#pragma once
#include "base/message.h"
#include "hdf5/calls.h"
#include "region/kept_readers.h"
#include "stz_h5.h"

namespace stz::region {

using namespace hdf5;  // region/ is written in terms of the calling HDF5

// The arguments of H5Dread.
struct Request {
  hid_t dataset, memory_type, memory_space, file_space, transfer;
  void* buffer;
  KeptReaders* kept = nullptr;  // readers that stay open after this read; null: none
};

enum class Outcome { done, through_hdf5, failed };

// Reads into request.buffer. through_hdf5, with stats.reason: H5Dread must read the whole selection. The buffer's selected samples are then
// unspecified, except that samples which H5Dread would leave alone are unchanged. failed: the message says why. Calls HDF5, which clears
// the error stack.
Outcome read_directly(const Calls& calls, const Request& request, stz_h5_stats& stats, Message& message);

// Implementation of stz_h5_read for the HDF5 that the code at `caller` uses. Counts in *stats unless it is null.
herr_t read_for(const void* caller, const Request& request, stz_h5_stats* stats) noexcept;

}  // namespace stz::region
