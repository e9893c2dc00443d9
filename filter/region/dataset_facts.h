// The facts about a dataset and a transfer that direct reads of chunks need, or the reason why H5Dread has to read.
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
  // Descriptor of the file, if the bytes at a chunk's address are certainly the chunk's; else -1. The file must be plain (driver sec2),
  // without a user block, open for reading only and not by SWMR, and HDF5 must find the addresses of the dataset's chunks.
  int descriptor;
};

// Returns STZ_H5_DIRECT and sets `facts` if the dataset is chunked, has the filter h5stz alone and a type of the codec, the file is not
// open through MPI, and `transfer` has no data transform. Otherwise returns the reason. Makes no collective call.
stz_h5_reason dataset_facts(const Calls& calls, hid_t dataset, hid_t type, hid_t transfer, DatasetFacts& facts);

// Whether a parallel library may have the file open through MPI; false for plain files. The access properties would tell it too, but a copy
// of MPI's is a collective operation (MPI_Comm_dup): a rank that reads alone, which is allowed, would wait for the others for ever.
bool may_use_mpi(const Calls& calls, hid_t file);

// The conversion from the dataset's type to the buffer's.
enum class Conversion { none, numbers, by_hdf5 };

// Returns numbers if the types differ and H5Tconvert alone, without a background, gives the result of H5Dread. Returns by_hdf5 if the
// conversion needs more or does not exist.
Conversion conversion_between(const Calls& calls, hid_t type, hid_t memory_type);

}  // namespace stz::region
