// The functions of a loaded plug-in that encode and decode chunks as its filter does, for the libraries of unmodified programs.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz::hdf5 {

// All members are of C types, as the libraries may come from different compilers. A changed structure gets another function name. The
// arguments are those of chunk.h; `out` holds `capacity` bytes. Any number of threads may call the functions, which do not call HDF5.
struct ChunkFunctions {
  // Trains predictions for the `chunks` chunks of a dataset, on some of them; gather(context, number) returns the samples of one, or null
  // if it cannot. So the bytes of the streams depend on the dataset and its options alone, where those of chunks that learn from each other
  // would depend on the order of the threads. Returns null where this does not pay or fails.
  stz_learned* (*train)(size_t count, const unsigned* values, u64 chunks, const void* (*gather)(void* context, u64 number), void* context);
  void (*free_trained)(stz_learned* trained);
  // Returns the number of bytes of the stream, or 0 if there is an error. trained: the result of train().
  size_t (*encode)(size_t count, const unsigned* values, const void* dataset, stz_learned* trained, const void* samples, size_t bytes,
                   int threads, void* out, size_t capacity);
  // Returns the number of bytes of the samples, or 0 if there is an error.
  size_t (*decode)(size_t count, const unsigned* values, const void* dataset, const void* stream, size_t bytes, int threads, void* out,
                   size_t capacity);
};

// The C function of the plug-in that returns the address of its ChunkFunctions.
constexpr const char* chunk_functions_name = "stz_chunk_functions_1";

// The functions of the plug-in that was loaded first; null if none is loaded. Thread-safe.
const ChunkFunctions* chunk_functions() noexcept;

}  // namespace stz::hdf5
