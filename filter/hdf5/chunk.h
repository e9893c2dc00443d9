// Encoding and decoding of one chunk: for HDF5, with the arguments of a filter, and for code that writes and reads chunks beside HDF5's
// pipeline. Both ways give the same bytes and leave the same memories.
#pragma once
#include "base/function_ref.h"
#include "base/message.h"
#include "hdf5/library.h"
#include "stz.h"

namespace stz::hdf5 {

// The filter's client data of a dataset.
struct ChunkClient {
  size_t count;
  const unsigned* values;
  const void* dataset;  // recognition::Chunk::dataset
};

// Returns memory of a number of bytes, or null.
using Allocate = FunctionRef<void*(size_t bytes)>;

// What a chunk takes predictions from: what the process has learned, or a memory of the caller's, which may be null.
struct ChunkLearning {
  bool of_process = true;
  stz_learned* learned = nullptr;
};

struct ChunkDecoding {
  int threads = 1;
  bool verify = stz_environment_verify() != 0;  // the content check is compared
  bool remember = true;                         // the chunk is recognised when it is encoded again (recognition/memory.h)
};

// Compress an array of samples, and decompress a stream, to memory from `allocate`. They return the number of bytes there; on an error they
// set `message` and return 0. threads: for this chunk; 0: the number of the client data. They do not call HDF5.
size_t encode_samples(const ChunkClient& client, const ChunkLearning& learning, const void* samples, size_t bytes, int threads,
                      Allocate allocate, Message& message);
size_t decode_stream(const ChunkClient& client, const ChunkDecoding& how, const void* stream, size_t bytes, Allocate allocate,
                     Message& message);

// Both replace *buffer by a new one of *buffer_size bytes and return the number of bytes that hold data. On an error they set
// `message`, change nothing else and return 0.
size_t encode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message);
size_t decode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message);

}  // namespace stz::hdf5
