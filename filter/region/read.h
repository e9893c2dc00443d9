// A read of a selection without H5Dread, or the reason why it has to be H5Dread.
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
  KeptReaders* kept = nullptr;  // those that live on after this read; null: none do
};

enum class Outcome { done, through_hdf5, failed };

// Reads into request.buffer. through_hdf5, with stats.reason: H5Dread must read all of it (the buffer's selected samples may hold
// anything then, but those that H5Dread would leave as they are are unchanged). failed: the message says why. Calls HDF5, which
// clears the error stack.
Outcome read_directly(const Calls& calls, const Request& request, stz_h5_stats& stats, Message& message);

// The functions of stz_h5.h for the HDF5 that the code at `caller` uses; counts in *stats unless it is null.
herr_t read_for(const void* caller, const Request& request, stz_h5_stats* stats) noexcept;

}  // namespace stz::region
