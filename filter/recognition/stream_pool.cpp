#include "recognition/stream_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stz::recognition {
namespace {

// Copies to aligned memory without bringing it into the caches, as it was used long ago and is not read soon.
void copy_past_caches(u8* to, const u8* from, size_t size) noexcept {
#if defined(__SSE2__)
  for (; size >= 64; to += 64, from += 64, size -= 64)
    for (size_t k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
#endif
  memcpy(to, from, size);
}

}  // namespace

u64 stream_fingerprint(const void* stream, size_t size) noexcept {
  constexpr size_t most_words = 32;
  const size_t words = std::min(size / 8, most_words), step = std::max<size_t>(8, size / most_words);
  u64 hash = 0;
  const auto mix = [&hash](u64 value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  mix(size);
  for (size_t k = 0; k <= words; ++k) {
    const size_t at = k < words ? k * step : size - std::min<size_t>(8, size);  // the last word is the end
    u64 word = 0;
    memcpy(&word, static_cast<const u8*>(stream) + at, std::min<size_t>(8, size - at));
    mix(word);
  }
  return hash;
}

StreamPool::~StreamPool() {
  for (u8* mapping : mappings_) munmap(mapping, mapping_bytes);
}

u64 StreamPool::room_for(size_t size) { return size <= most_alone ? size : blocks_for(size) * block_bytes; }

void StreamPool::grow() {
  if (mappings_.size() == mappings_.capacity()) mappings_.reserve(2 * mappings_.size() + 8);
  next_.resize((mappings_.size() + 1) * blocks_in_mapping);
  // a region of twice the size contains an aligned large page
  void* const region = mmap(nullptr, 2 * mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<u8*>(region);
  const size_t before = -reinterpret_cast<uintptr_t>(region) % mapping_bytes;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + mapping_bytes, mapping_bytes - before);
#if defined(MADV_HUGEPAGE)
  madvise(begin + before, mapping_bytes, MADV_HUGEPAGE);  // may fail without harm
#endif
  mappings_.push_back(begin + before);
}

// A fresh block is copied through the caches, as the system has just cleared it there.
u32 StreamPool::fill_block(const u8* bytes, size_t size) noexcept {
  if (free_ == none) {
    memcpy(block(u32(fresh_)), bytes, size);
    return u32(fresh_++);
  }
  copy_past_caches(block(free_), bytes, size);
  --free_count_;
  return std::exchange(free_, next_[free_]);
}

KeptStream StreamPool::keep(const void* stream, size_t size) {
  KeptStream kept;
  if (size <= most_alone) {
    kept.alone = std::make_unique<u8[]>(size);
    memcpy(kept.alone.get(), stream, size);
  } else {
    while (free_count_ + mappings_.size() * blocks_in_mapping - fresh_ < blocks_for(size)) grow();
    u32* link = &kept.first_block;
    for (size_t at = 0; at < size; at += block_bytes) {
      *link = fill_block(static_cast<const u8*>(stream) + at, std::min(size - at, block_bytes));
      link = &next_[*link];
    }
    *link = none;
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }
  kept.size = size;
  return kept;
}

Buffer<u8> StreamPool::bytes_of(const KeptStream& stream) const {
  Buffer<u8> bytes(stream.size);
  if (stream.alone) {
    memcpy(bytes.data(), stream.alone.get(), stream.size);
  } else {
    u32 number = stream.first_block;
    for (size_t at = 0; at < stream.size; at += block_bytes, number = next_[number])
      memcpy(bytes.data() + at, block(number), std::min(stream.size - at, block_bytes));
  }
  return bytes;
}

bool StreamPool::holds(const KeptStream& stream, const void* bytes) const noexcept {
  const auto* const expected = static_cast<const u8*>(bytes);
  if (stream.alone) return memcmp(stream.alone.get(), expected, stream.size) == 0;
  u32 number = stream.first_block;
  for (size_t at = 0; at < stream.size; at += block_bytes, number = next_[number])
    if (memcmp(block(number), expected + at, std::min(stream.size - at, block_bytes)) != 0) return false;
  return stream.size > 0;
}

void StreamPool::drop(KeptStream& stream) noexcept {
  if (stream.size > 0 && !stream.alone) {
    u32 last = stream.first_block;
    while (next_[last] != none) last = next_[last];
    next_[last] = std::exchange(free_, stream.first_block);
    free_count_ += blocks_for(stream.size);
  }
  stream = {};
}

}  // namespace stz::recognition
