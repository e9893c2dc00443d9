// Finds the chunks that have a probe, by the hash of the probe. The index has a largest size. When it is full, it first drops probes of the
// chunks that were decoded first. A few `lasting` probes of each chunk are dropped last.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "base/common.h"

namespace stz::recognition {

class ContentIndex {
 public:
  static constexpr u32 chunk_bits = 20, most_chunks = u32(1) << chunk_bits;
  static constexpr size_t most_slots = size_t(1) << 23;  // of eight bytes

  // Makes room for `more` probes. If it throws std::bad_alloc, nothing has changed.
  void reserve(size_t more);
  // hash: a hash of the probe, its place and the layout. lasting: the probe is dropped last. decoded_at(chunk): the chunk with the lowest
  // value is dropped first.
  template <class DecodedAt>
  void insert(u64 hash, u32 chunk, bool lasting, DecodedAt decoded_at) noexcept {
    ++inserted_;
    u64* const bucket = bucket_of(hash);
    const u64 slot = (hash & tag_mask) | (lasting ? lasting_bit : 0) | chunk;
    if (u64* const place = free_or_same(bucket, slot)) {
      used_ += *place == 0;
      *place = slot;
      return;
    }
    u64* first = nullptr;
    for (size_t k = 0; k < bucket_slots; ++k) {
      if (bucket[k] & lasting_bit && !lasting) continue;
      const auto rank = [&](u64 each) { return std::pair(each & lasting_bit, decoded_at(u32(each) & (most_chunks - 1))); };
      if (!first || rank(bucket[k]) < rank(*first)) first = bucket + k;
    }
    if (first) *first = slot;
  }
  // Calls found(chunk) for each chunk that is in the index with this hash, and in rare cases for other chunks.
  template <class Found>
  void find(u64 hash, Found found) const {
    if (slots_.empty()) return;
    const u64* const bucket = bucket_of(hash);
    const u64 tag = hash & tag_mask;
    u64 any = 0;
    for (size_t k = 0; k < bucket_slots; ++k) any |= (bucket[k] & tag_mask) == tag;
    if (!any) return;
    for (size_t k = 0; k < bucket_slots; ++k)
      if (bucket[k] && (bucket[k] & tag_mask) == tag) found(u32(bucket[k]) & (most_chunks - 1));
  }
  // A time: the bucket of this hash has not dropped chunks that were decoded later.
  template <class DecodedAt>
  u64 dropped_until(u64 hash, DecodedAt decoded_at) const {
    if (slots_.empty()) return 0;
    const u64* const bucket = bucket_of(hash);
    u64 oldest = ~u64(0);
    for (size_t k = 0; k < bucket_slots; ++k) {
      if (bucket[k] == 0) return 0;
      if (!(bucket[k] & lasting_bit)) oldest = std::min(oldest, decoded_at(u32(bucket[k]) & (most_chunks - 1)));
    }
    return oldest;
  }
  u64 inserted() const { return inserted_; }  // number of probes so far
  void prefetch(u64 hash) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(bucket_of(hash));
  }

 private:
  static constexpr size_t bucket_slots = 8;  // a cache line
  static constexpr u64 lasting_bit = u64(1) << chunk_bits, tag_mask = ~u64(0) << (chunk_bits + 1);

  u64* bucket_of(u64 hash) noexcept { return slots_.data() + (hash >> (chunk_bits + 1) & mask_) * bucket_slots; }
  const u64* bucket_of(u64 hash) const noexcept { return const_cast<ContentIndex*>(this)->bucket_of(hash); }
  static u64* free_or_same(u64* bucket, u64 slot) noexcept;
  void grow(size_t slots);

  std::vector<u64> slots_;  // each: the upper bits of a hash, whether it is lasting, the number of a chunk; 0: free
  u64 mask_ = 0;
  size_t used_ = 0;
  u64 inserted_ = 0;
};

}  // namespace stz::recognition
