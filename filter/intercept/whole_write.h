// First writes of whole datasets: several threads compress the chunks, and the calling thread gives them to HDF5 in the order of the file.
#pragma once
#include "hdf5/chunk_functions.h"
#include "region/whole_dataset.h"

namespace stz::intercept {

// Returns Way::threads if all chunks are written. Otherwise H5Dwrite must write everything, also what is written already. No chunk of the
// dataset may be in the file or in HDF5's chunk cache. Only the calling thread calls HDF5.
region::Way write_whole(const region::Request& request, const hdf5::Calls& calls, const region::WholeDataset& whole,
                        const hdf5::ChunkFunctions& functions, const region::Shares& shares);

}  // namespace stz::intercept
