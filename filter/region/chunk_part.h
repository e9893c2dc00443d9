// Reads the selected samples of one chunk from its stored bytes into the packed array of a selection.
#pragma once
#include "base/message.h"
#include "hdf5/calls.h"
#include "region/dataset_facts.h"
#include "region/kept_readers.h"
#include "region/selection.h"
#include "stz_h5.h"

namespace stz::region {

// One read of a selection: everything that does not change from chunk to chunk.
struct Transfer {
  const Calls& calls;
  hid_t dataset;
  hid_t properties;  // of the transfer
  const DatasetFacts& facts;
  const FileSelection& selection;
  unsigned char* packed;  // the packed array, in the dataset's type
  stz_h5_stats& stats;
  KeptReaders* kept;  // may be null
};

enum class Route {
  direct,   // done
  missing,  // not in the file: not done
  by_hdf5,  // stored in a way that only HDF5 reads: not done
  failed    // the chunk is damaged; the message says how
};

// Fetches and decodes a part of the chunk. axes[a] points to the part along axis a.
Route read_chunk_part(const Transfer& transfer, const ChunkAxis* const* axes, Message& message);

// Reads the same part with H5Dread. False if it fails.
bool read_chunk_part_by_hdf5(const Transfer& transfer, hid_t type, const ChunkAxis* const* axes);

}  // namespace stz::region
