// Memory of chunks, from the allocator of the library that will free it (a debug build of HDF5 has its own allocator).
#pragma once
#include <cstdlib>

#include "base/common.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

class ChunkBuffer {
 public:
  ChunkBuffer(const Library& library, size_t size)
      : library_(library), data_(library.reachable ? library.H5allocate_memory(size, false) : std::malloc(size)) {}
  ~ChunkBuffer() { release(library_, data_); }
  ChunkBuffer(const ChunkBuffer&) = delete;
  ChunkBuffer& operator=(const ChunkBuffer&) = delete;
  void* data() const { return data_; }

  // Gives the buffer to the caller.
  void* take() {
    void* const data = data_;
    data_ = nullptr;
    return data;
  }
  static void release(const Library& library, void* data) {
    if (!data) return;
    if (library.reachable)
      library.H5free_memory(data);
    else
      std::free(data);
  }

 private:
  const Library& library_;
  void* data_;
};

}  // namespace stz::hdf5
