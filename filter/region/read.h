// A read of a selection without H5Dread, or the reason why it has to be H5Dread.
#ifndef STZ_REGION_READ_H
#define STZ_REGION_READ_H

#include "calls.h"
#include "hdf5/message.h"
#include "kept_readers.h"
#include "stz_h5.h"

namespace stz::region {

// The arguments of H5Dread.
struct Request {
  Id dataset, memory_type, memory_space, file_space, transfer;
  void* buffer;
  KeptReaders* kept = nullptr;  // those that live on after this read; null: none do
};

enum class Outcome { kDone, kThroughHdf5, kFailed };

// Reads into request.buffer. kThroughHdf5, with stats.reason: H5Dread must read all of it (the buffer's selected samples may hold
// anything then, but those that H5Dread would leave as they are are unchanged). kFailed: the message says why. Calls HDF5, which
// clears the error stack.
Outcome read_directly(const Calls& calls, const Request& request, stz_h5_stats& stats, hdf5::Message& message);

// The functions of stz_h5.h for the HDF5 that the code at `caller` uses; counts in *stats unless it is null.
Status read_for(const void* caller, const Request& request, stz_h5_stats* stats) noexcept;

}  // namespace stz::region

#endif
