// Memory of chunks, from the allocator of the library that will free it (a debug build of HDF5 has one of its own).
#pragma once
#include "base/common.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

// The bytes that the allocator set aside for a block of the library; 0 where it cannot be asked.
size_t usable_bytes(const Library& library, void* block) noexcept;

// The size that the C library (glibc) has written in front of a block of so many usable bytes; 0 for blocks of
// another allocator. Whoever gets the same address later, for another size, finds another number there.
u64 block_header(const void* block, size_t usable) noexcept;
constexpr size_t block_header_bytes = 8;
constexpr u64 block_header_size(u64 word) noexcept { return word & ~u64(7); }  // the rest are flags, which change

class ChunkBuffer {
 public:
  // `marked`: a little larger than needed, by which usable_bytes() tells it from a block that HDF5 itself gets later at the same address.
  enum Kind { plain, marked };
  ChunkBuffer(const Library& library, size_t size, Kind kind = plain);
  ~ChunkBuffer() { release(library_, data_); }
  ChunkBuffer(const ChunkBuffer&) = delete;
  ChunkBuffer& operator=(const ChunkBuffer&) = delete;
  void* data() const { return data_; }

  // The buffer goes to the caller.
  void* take() {
    void* const data = data_;
    data_ = nullptr;
    return data;
  }
  static void release(const Library& library, void* data);

 private:
  const Library& library_;
  void* data_;
};

// Would a block of `size` bytes that HDF5 allocates itself differ from one with these usable bytes? Yes, where there is no memory to find
// out: then a chunk is stored exactly.
bool marks_show(const Library& library, size_t size, size_t usable) noexcept;

}  // namespace stz::hdf5
