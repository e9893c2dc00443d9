// Memory of chunks, from the allocator of the library that will free it (a debug build of HDF5 has its own allocator).
#pragma once
#include <sys/mman.h>

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

  // Asks for large pages if all of a large buffer of this size will be written. malloc gives each such buffer new pages, which the system
  // clears one by one: that took 40 % of the time to read a chunk of 64 MiB.
  void expect_all([[maybe_unused]] size_t size) {
#if defined(MADV_HUGEPAGE)
    constexpr uintptr_t large_page = uintptr_t{2} << 20, fewest = 4;
    const auto begin = (reinterpret_cast<uintptr_t>(data_) + large_page - 1) / large_page * large_page;
    const auto end = (reinterpret_cast<uintptr_t>(data_) + size) / large_page * large_page;
    if (size >= fewest * large_page) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // may fail without harm
#endif
  }
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
