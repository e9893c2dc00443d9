// The chunks of a dataset for which the program chose none, and the chunk cache that writing them takes.
#pragma once
#include "hdf5/hdf5_abi.h"

namespace stz::intercept {

using hdf5::hsize_t;

// Fills `chunk` for an array whose size in bytes 64 bits hold. The whole array if it has at most 16 MiB. Else chunks of at most 16 MiB
// that are cut along the slowest axes: 32 or more samples of each, in multiples of 32 where that takes no more chunks, and the faster axes
// whole. Of an axis of which 32 planes have more than 128 MiB a chunk has 16, 8 or as many planes as fit, mostly one: such arrays are
// written plane by plane, and the chunks that a plane touches have to be in memory until they are full.
void choose_chunk(int rank, const hsize_t* extents, hsize_t element_size, hsize_t* chunk) noexcept;

struct ChunkCache {
  size_t slots, bytes;
};

// A chunk cache that holds all chunks, or those that `most_bytes` hold, at least one; with a slot of its own for each: HDF5 evicts a
// chunk when another one comes to its slot.
ChunkCache cache_for(int rank, const hsize_t* extents, const hsize_t* chunk, hsize_t element_size, hsize_t most_bytes) noexcept;

}  // namespace stz::intercept
