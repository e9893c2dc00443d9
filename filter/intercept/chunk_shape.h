// Chooses the chunk shape of datasets for which the program chose none, and the chunk cache that writing them needs.
#pragma once
#include "hdf5/hdf5_abi.h"

namespace stz::intercept {

using hdf5::hsize_t;

// Fills `chunk` for an array whose size in bytes fits in 64 bits. An array of at most 16 MiB is one chunk. Larger arrays get chunks of at
// most 16 MiB, cut along the slowest axes only: 32 or more planes, in multiples of 32 if that takes no more chunks.
// Along an axis where 32 planes exceed 128 MiB a chunk has 16, 8 or as many planes as fit, usually one. Programs write such arrays plane by
// plane, and all chunks that a plane touches stay in memory until they are full.
void choose_chunk(int rank, const hsize_t* extents, hsize_t element_size, hsize_t* chunk) noexcept;

struct ChunkCache {
  size_t slots, bytes;
};

// The chunk cache that holds all chunks, or as many as fit in `most_bytes`, but at least one. Each chunk gets its own slot, because HDF5
// evicts a chunk when another one hashes to its slot.
ChunkCache cache_for(int rank, const hsize_t* extents, const hsize_t* chunk, hsize_t element_size, hsize_t most_bytes) noexcept;

}  // namespace stz::intercept
