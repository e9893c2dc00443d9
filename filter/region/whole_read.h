// Reads of whole datasets: the calling thread reads the stored bytes of the chunks, and several threads decode them into the buffer.
#pragma once
#include "hdf5/chunk_functions.h"
#include "region/whole_dataset.h"

namespace stz::region {

// Returns Way::threads if all samples are in the buffer. Otherwise H5Dread must read everything; the buffer is then unspecified for
// `failed`, else unchanged. stored_bytes gets the number of bytes read. Only the calling thread calls HDF5.
Way read_whole(const Calls& calls, const Request& request, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
               const Shares& shares, hsize_t& stored_bytes);

}  // namespace stz::region
