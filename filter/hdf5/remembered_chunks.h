// What is remembered of decoded chunks, in the order in which they were decoded. Not thread-safe: RewriteMemory has the lock.
#pragma once
#include <memory>
#include <vector>

#include "hdf5/probes.h"
#include "hdf5/stream_pool.h"

namespace stz::hdf5 {

struct RememberedChunk {
  u64 layout, settings;  // hashes: of type and shape; of the options that its dataset has
  u64 fingerprint;
  double prior_bound;  // absolute, between the samples and what was compressed first; 0: not known
  KeptStream stream;   // nothing: forgotten
  uintptr_t address;   // of the samples while HDF5 may hold them; else 0
  KeptProbes probes;
  u32 most_frequent;  // hash of the value that most probes have
  u32 older, newer, next_alike;
  bool is_indexed;  // the probes are in the index of live chunks,
  bool is_waiting;  // or the number of the chunk is in the list of those that will be; the list outlives the chunk
  bool is_small;    // the stream is kept as long as the chunk is remembered
};

class RememberedChunks {
 public:
  static constexpr u32 none = 0xffffffff;
  static constexpr u32 most = 1000000;

  // bytes: how many may be kept of streams.
  explicit RememberedChunks(u64 bytes) : byte_limit_(bytes) {}

  RememberedChunk& operator[](u32 chunk) { return blocks_[chunk / block][chunk % block]; }
  const RememberedChunk& operator[](u32 chunk) const { return blocks_[chunk / block][chunk % block]; }

  // A new chunk, the newest. The others may be moved in no order and keep their numbers. Throws std::bad_alloc and changes nothing then.
  u32 add(u64 fingerprint);
  // Keeps a copy of the stream, if there is room for it beside those of newer chunks and memory to be had.
  void keep_stream(u32 chunk, const void* stream, size_t size, bool is_distinct);
  Buffer<u8> stream_of(u32 chunk) const { return pool_.bytes_of((*this)[chunk].stream); }
  void remove(u32 chunk);

  u32 size() const { return size_; }
  u32 oldest() const { return oldest_; }
  // Chunks with this fingerprint and perhaps others, the newest first.
  u32 first_alike(u64 fingerprint) const { return heads_.empty() ? none : heads_[head_of(fingerprint)]; }

 private:
  static constexpr u32 block = 1024;

  size_t head_of(u64 fingerprint) const { return size_t(fingerprint) & (heads_.size() - 1); }
  void reserve_one();
  void unlink_alike(u32 chunk);
  void drop_stream(u32 chunk);
  void forget_streams(u64 room);

  std::vector<std::unique_ptr<RememberedChunk[]>> blocks_;
  std::vector<u32> heads_;        // chains of chunks by fingerprint
  u32 size_ = 0, unused_ = none;  // unused_: a list along `older`
  u32 oldest_ = none, newest_ = none;
  u32 oldest_kept_ = none;  // no chunk before it has a stream that may be forgotten
  u64 byte_limit_, bytes_ = 0, small_bytes_ = 0;
  StreamPool pool_;
};

}  // namespace stz::hdf5
