// Keeps copies of compressed chunks, in blocks of one size and in separate memory. So HDF5 allocates and frees as if nothing were kept: its
// buffers stay in the caches, and its heap is not fragmented.
// Not thread-safe: memory.cpp has the lock.
#pragma once
#include <memory>
#include <vector>

#include "base/buffer.h"

namespace stz::recognition {

// A hash that tells the streams of a process apart. It reads only some words, spread over the stream, if the stream is large.
u64 stream_fingerprint(const void* stream, size_t size) noexcept;

// A stream in a pool, or nothing.
struct KeptStream {
  size_t size = 0;
  u32 first_block = 0;
  std::unique_ptr<u8[]> alone;  // the bytes of a small stream, instead of blocks

  explicit operator bool() const { return size > 0; }
};

class StreamPool {
 public:
  StreamPool() = default;
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;
  ~StreamPool();

  static constexpr u64 most_bytes = u64(1) << 41;  // the limit of block numbers
  // The bytes of memory that a stream of this size takes.
  static u64 room_for(size_t size);
  // Keeps a copy of a stream of at least one byte. Throws std::bad_alloc.
  KeptStream keep(const void* stream, size_t size);
  // Throws std::bad_alloc.
  Buffer<u8> bytes_of(const KeptStream& stream) const;
  // Whether `bytes`, of the size of the kept stream, equal it.
  bool holds(const KeptStream& stream, const void* bytes) const noexcept;
  void drop(KeptStream& stream) noexcept;
  size_t mapped_bytes() const { return mappings_.size() * mapping_bytes; }

 private:
  static constexpr size_t block_bytes = 1024, most_alone = block_bytes / 4;
  static constexpr size_t mapping_bytes = size_t(2) << 20;  // a large page
  static constexpr u32 blocks_in_mapping = mapping_bytes / block_bytes, none = 0xffffffff;

  static size_t blocks_for(size_t size) { return size / block_bytes + (size % block_bytes != 0); }
  u8* block(u32 number) const { return mappings_[number / blocks_in_mapping] + size_t(number % blocks_in_mapping) * block_bytes; }
  void grow();
  u32 fill_block(const u8* bytes, size_t size) noexcept;

  std::vector<u8*> mappings_;
  std::vector<u32> next_;              // the block after each block, in its stream or in the list of free blocks
  u32 free_ = none;                    // the first free block
  size_t free_count_ = 0, fresh_ = 0;  // blocks from fresh_ on were never used
};

}  // namespace stz::recognition
