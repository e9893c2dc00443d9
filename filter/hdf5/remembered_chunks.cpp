#include "hdf5/remembered_chunks.h"

#include <algorithm>
#include <utility>

namespace stz::hdf5 {
namespace {

// Streams of chunks that probes do not tell apart, such as those that are almost constant.
constexpr size_t small_stream = 256;
constexpr u64 most_small_bytes = u64(32) << 20;

}  // namespace

void RememberedChunks::reserve_one() {
  if (size_ >= heads_.size()) {
    std::vector<u32> heads(std::max<size_t>(1024, 2 * heads_.size()), none);
    heads_.swap(heads);
    for (u32 chunk = oldest_; chunk != none; chunk = (*this)[chunk].newer) {
      u32& head = heads_[head_of((*this)[chunk].fingerprint)];
      (*this)[chunk].next_alike = std::exchange(head, chunk);
    }
  }
  if (unused_ != none) return;
  blocks_.push_back(nullptr);
  try {
    blocks_.back() = std::make_unique<RememberedChunk[]>(block);
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
  for (u32 i = block; i-- > 0;) {
    const u32 chunk = u32(blocks_.size() - 1) * block + i;
    (*this)[chunk].older = std::exchange(unused_, chunk);
  }
}

u32 RememberedChunks::add(u64 fingerprint) {
  reserve_one();
  const u32 number = unused_;
  RememberedChunk& chunk = (*this)[number];
  unused_ = chunk.older;
  chunk.fingerprint = fingerprint;
  chunk.address = 0;
  chunk.is_indexed = chunk.is_small = false;
  chunk.next_alike = std::exchange(heads_[head_of(fingerprint)], number);
  chunk.older = newest_;
  chunk.newer = none;
  (newest_ == none ? oldest_ : (*this)[newest_].newer) = number;
  newest_ = number;
  ++size_;
  return number;
}

void RememberedChunks::keep_stream(u32 number, const void* stream, size_t size, bool is_distinct) {
  RememberedChunk& chunk = (*this)[number];
  const u64 room = StreamPool::room_for(size);
  chunk.is_small = !is_distinct && size <= small_stream && small_bytes_ + room <= std::min(most_small_bytes, byte_limit_);
  if (!chunk.is_small) {
    if (room > byte_limit_) return;
    forget_streams(room);
  }
  try {
    chunk.stream = pool_.keep(stream, size);
  } catch (const std::bad_alloc&) {
    return;  // reading must not fail because of what only rewriting needs
  }
  (chunk.is_small ? small_bytes_ : bytes_) += room;
  if (!chunk.is_small && oldest_kept_ == none) oldest_kept_ = number;
}

void RememberedChunks::drop_stream(u32 number) {
  RememberedChunk& chunk = (*this)[number];
  if (!chunk.stream) return;
  (chunk.is_small ? small_bytes_ : bytes_) -= StreamPool::room_for(chunk.stream.size);
  pool_.drop(chunk.stream);
}

// The oldest ones, until there is so much room.
void RememberedChunks::forget_streams(u64 room) {
  while (bytes_ > byte_limit_ - room) {
    RememberedChunk& chunk = (*this)[oldest_kept_];
    if (!chunk.is_small) drop_stream(oldest_kept_);
    oldest_kept_ = chunk.newer;
  }
}

void RememberedChunks::unlink_alike(u32 number) {
  u32* link = &heads_[head_of((*this)[number].fingerprint)];
  while (*link != number) link = &(*this)[*link].next_alike;
  *link = (*this)[number].next_alike;
}

void RememberedChunks::remove(u32 number) {
  RememberedChunk& chunk = (*this)[number];
  unlink_alike(number);
  drop_stream(number);
  if (oldest_kept_ == number) oldest_kept_ = chunk.newer;
  (chunk.older == none ? oldest_ : (*this)[chunk.older].newer) = chunk.newer;
  (chunk.newer == none ? newest_ : (*this)[chunk.newer].older) = chunk.older;
  chunk.older = std::exchange(unused_, number);
  --size_;
}

}  // namespace stz::hdf5
