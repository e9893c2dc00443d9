// What has to be known of a dataset and a transfer to read chunks directly, or the reason why H5Dread has to read it.
#pragma once
#include "hdf5/calls.h"
#include "region/selection.h"
#include "stz_h5.h"

namespace stz::region {

struct DatasetFacts {
  stz_layout chunk;         // type, byte order and shape of every chunk
  size_t element_size;      // of the dataset's type
  bool raw_partial_chunks;  // chunks that stick out of the dataset are stored without the filter
  bool may_skip_missing;    // H5Dread leaves samples of missing chunks as they are in the buffer
  // Of the file, whose bytes at a chunk's address are the chunk's; -1 if that is not certain: the file must be a plain one (driver
  // sec2) without a user block, open for reading only and not by SWMR, and HDF5 must find the addresses of the dataset's chunks.
  int descriptor;
};

// STZ_H5_DIRECT, with `facts`, if the dataset is chunked, has the filter h5stz alone, a type of the codec, lies in a file that is not
// open through MPI and `transfer` asks for no data transform. Else the reason. Asks nothing that ranks would have to ask together.
stz_h5_reason dataset_facts(const Calls& calls, hid_t dataset, hid_t type, hid_t transfer, DatasetFacts& facts);

// Whether a parallel library may have the file open through MPI; false for plain files. The access properties would say it too, but to
// copy those of MPI is a collective operation (MPI_Comm_dup): a rank that reads for itself, as it may, would wait for ever for the others.
bool may_use_mpi(const Calls& calls, hid_t file);

// How samples get from the dataset's type to the buffer's.
enum class Conversion { none, numbers, by_hdf5 };

// numbers if the types differ and H5Tconvert alone, without a background, does what H5Dread would do; by_hdf5 if more is needed
// or there is no conversion.
Conversion conversion_between(const Calls& calls, hid_t type, hid_t memory_type);

}  // namespace stz::region
