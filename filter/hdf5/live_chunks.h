// The chunks whose decoded samples HDF5 may still hold: by the address of their buffer; by what this buffer holds now, as a flush passes a
// copy of it; and by their probes, where the system does not let us look.
// Not thread-safe: RewriteMemory has the lock.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "hdf5/remembered_chunks.h"

namespace stz::hdf5 {

struct LiveBuffer {
  u32 chunk;
  size_t bytes, usable;  // usable: what the allocator set aside, 0 if it cannot be asked
  u64 header;            // block_header() of it
  const void* dataset;   // of the chunk: only it can have the buffer flushed
};

class LiveChunks {
 public:
  explicit LiveChunks(RememberedChunks& chunks) : chunks_(chunks) {}

  // The buffer at this address, or null.
  const LiveBuffer* at(const void* address) const;
  // The memory is used otherwise: no buffer that overlaps it exists any more.
  void end(const void* address, size_t bytes);
  // After end() of the same memory. Throws std::bad_alloc and changes nothing then.
  void add(const void* address, const LiveBuffer& buffer);

  // The buffers of chunks of the same dataset that hold a word of these samples in its place: they may hold all of them. Looks at a
  // limited number of buffers. Throws std::bad_alloc.
  std::vector<uintptr_t> holders_of(const void* samples, size_t bytes, const void* dataset) const;
  // The chunk of which the most distinctive probes, at least one, are those of a chunk of the same settings; none if there is none.
  u32 most_alike(const Probes& probes, u64 settings, size_t& equal_probes);
  // The newest chunk that has few distinctive probes, with its stream, whose most frequent value is frequent among the probes too.
  u32 almost_constant_one(const Probes& probes, u64 settings) const;

 private:
  // Chunks by the hash of a probe and its place. Those of chunks that are no longer live stay until the table is full.
  struct Slot {
    u32 tag, chunk;
  };
  void index_waiting();
  void index(u32 chunk);
  void index_anew();
  void insert(u64 key, u32 chunk);

  RememberedChunks& chunks_;
  std::map<uintptr_t, LiveBuffer> buffers_;
  std::set<std::pair<uintptr_t, uintptr_t>> of_dataset_;  // dataset and address of each of these buffers
  std::vector<u32> waiting_;                              // chunks to be indexed when something is compressed next
  std::vector<Slot> slots_;
  size_t slots_used_ = 0, left_out_ = 0;
  static constexpr size_t most_almost_constant = 64;
  u32 almost_constant_[most_almost_constant];  // the last ones
  size_t almost_constant_seen_ = 0;
};

}  // namespace stz::hdf5
