#include "recognition/content_index.h"

#include <algorithm>
#include <utility>

namespace stz::recognition {

void ContentIndex::reserve(size_t more) {
  size_t slots = std::max<size_t>(1024, slots_.size());
  while ((used_ + more) * 5 > slots * 2 && slots < most_slots) slots *= 2;  // few buckets overflow at a load of 0.4
  if (slots != slots_.size()) grow(slots);
}

void ContentIndex::grow(size_t slots) {
  std::vector<u64> old(slots);
  old.swap(slots_);
  mask_ = slots / bucket_slots - 1;
  used_ = 0;
  for (const u64 slot : old)
    if (slot) insert(slot, u32(slot) & (most_chunks - 1), slot & lasting_bit, [](u32) { return 0; });  // there is room
}

// The place of a free slot or of this slot in the bucket; null if there is neither.
u64* ContentIndex::free_or_same(u64* bucket, u64 slot) noexcept {
  for (size_t k = 0; k < bucket_slots; ++k)
    if (bucket[k] == 0 || bucket[k] == slot) return bucket + k;
  return nullptr;
}

}  // namespace stz::recognition
