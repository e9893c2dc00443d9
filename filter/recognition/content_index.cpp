#include "recognition/content_index.h"

#include <algorithm>
#include <utility>

namespace stz::recognition {

void ContentIndex::reserve(size_t more) {
  size_t slots = std::max<size_t>(1024, slots_.size());
  while ((used_ + more) * 5 > slots * 2 && slots < most_slots) slots *= 2;  // at a load of 0.4 few buckets overflow
  if (slots != slots_.size()) grow(slots);
}

void ContentIndex::grow(size_t slots) {
  std::vector<u64> old(slots);
  old.swap(slots_);
  mask_ = slots / bucket_slots - 1;
  used_ = 0;
  for (const u64 slot : old)
    if (slot) insert(slot, u32(slot) & (most_chunks - 1), slot & lasting_bit, u32(slot) & (most_chunks - 1));
}

void ContentIndex::insert(u64 hash, u32 chunk, bool lasting, u32 newest) noexcept {
  u64* const bucket = bucket_of(hash);
  const u64 slot = (hash & tag_mask) | (lasting ? lasting_bit : 0) | chunk;
  u64* weakest = bucket;
  u32 weakness = 0;
  for (size_t k = 0; k < bucket_slots; ++k) {
    if (bucket[k] == 0) {
      bucket[k] = slot;
      ++used_;
      return;
    }
    const u32 age = (newest - u32(bucket[k])) & (most_chunks - 1);
    const u32 rank = age + (bucket[k] & lasting_bit ? 0 : most_chunks);
    if (rank >= weakness) weakness = rank, weakest = bucket + k;
  }
  if (lasting || !(*weakest & lasting_bit)) *weakest = slot;
}

}  // namespace stz::recognition
