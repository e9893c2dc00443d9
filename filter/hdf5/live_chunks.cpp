#include "hdf5/live_chunks.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "hdf5/peek.h"

namespace stz::hdf5 {
namespace {

constexpr size_t least_slots = 4096, most_slots = size_t(1) << 21;

u64 key_of(u64 layout, u64 settings, size_t position, u32 hash) {
  u64 key = (layout ^ settings ^ (u64(position) << 32 | hash)) * 0x9e3779b97f4a7c15;
  return key ^ key >> 29;
}

bool has_probe(const KeptProbes& kept, size_t position, u32 hash) {
  for (size_t k = 0; k < kept.count; ++k)
    if (kept.position[k] == position) return kept.hash[k] == hash;
  return false;
}

}  // namespace

const LiveBuffer* LiveChunks::at(const void* address) const {
  const auto buffer = buffers_.find(reinterpret_cast<uintptr_t>(address));
  return buffer == buffers_.end() ? nullptr : &buffer->second;
}

void LiveChunks::end(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  auto buffer = buffers_.lower_bound(begin);
  if (buffer != buffers_.begin() && std::prev(buffer)->first + std::prev(buffer)->second.bytes > begin) --buffer;
  while (buffer != buffers_.end() && buffer->first < end) {
    chunks_[buffer->second.chunk].address = 0;
    of_dataset_.erase({reinterpret_cast<uintptr_t>(buffer->second.dataset), buffer->first});
    buffer = buffers_.erase(buffer);
  }
}

void LiveChunks::add(const void* address, const LiveBuffer& buffer) {
  RememberedChunk& chunk = chunks_[buffer.chunk];
  if (!chunk.is_waiting) waiting_.push_back(buffer.chunk);
  chunk.is_waiting = true;
  const auto number = reinterpret_cast<uintptr_t>(address);
  const auto entry = of_dataset_.emplace(reinterpret_cast<uintptr_t>(buffer.dataset), number).first;
  try {
    buffers_.emplace(number, buffer);
  } catch (...) {
    of_dataset_.erase(entry);
    throw;
  }
  chunk.address = number;
  if (chunk.probes.count < enough_distinctive) almost_constant_[almost_constant_seen_++ % most_almost_constant] = buffer.chunk;
}

// The word is one in the middle: allocators write into the beginning of what is freed.
std::vector<uintptr_t> LiveChunks::holders_of(const void* samples, size_t bytes, const void* dataset) const {
  constexpr size_t at_a_time = 256, most_looked_at = 8192;
  const size_t place = bytes / 2 & ~size_t(7), size = std::min<size_t>(bytes - place, sizeof(u64));
  uintptr_t addresses[at_a_time];
  u64 words[at_a_time];
  bool readable[at_a_time];
  std::vector<uintptr_t> holders;
  size_t looked_at = 0;
  const auto key = reinterpret_cast<uintptr_t>(dataset);
  auto entry = of_dataset_.lower_bound({key, 0});
  while (entry != of_dataset_.end() && entry->first == key && looked_at < most_looked_at) {
    size_t number = 0;
    for (; entry != of_dataset_.end() && entry->first == key && number < at_a_time; ++entry)
      if (buffers_.at(entry->second).bytes == bytes) addresses[number++] = entry->second + place;
    looked_at += number;
    if (!peek(addresses, number, words, readable)) return holders;
    for (size_t k = 0; k < number; ++k)
      if (readable[k] && std::memcmp(&words[k], static_cast<const u8*>(samples) + place, size) == 0)
        holders.push_back(addresses[k] - place);
  }
  return holders;
}

void LiveChunks::insert(u64 key, u32 chunk) {
  size_t slot = size_t(key) & (slots_.size() - 1);
  while (slots_[slot].chunk != RememberedChunks::none) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = {u32(key >> 32), chunk};
  ++slots_used_;
}

// What does not fit is left out: such chunks are recognised by their address alone.
void LiveChunks::index(u32 number) {
  RememberedChunk& chunk = chunks_[number];
  if (2 * (slots_used_ + chunk.probes.count) > slots_.size()) {
    ++left_out_;
    return;
  }
  for (size_t k = 0; k < chunk.probes.count; ++k)
    insert(key_of(chunk.layout, chunk.settings, chunk.probes.position[k], chunk.probes.hash[k]), number);
  chunk.is_indexed = true;
}

void LiveChunks::index_anew() {
  const size_t wanted = 4 * most_kept_probes * buffers_.size();
  size_t size = least_slots;
  while (size < wanted && size < most_slots) size *= 2;
  slots_.assign(size, Slot{0, RememberedChunks::none});
  slots_used_ = 0;
  for (const auto& [address, buffer] : buffers_) index(buffer.chunk);
  left_out_ = 0;
}

void LiveChunks::index_waiting() {
  for (u32 number : waiting_) {
    RememberedChunk& chunk = chunks_[number];
    chunk.is_waiting = false;
    if (!chunk.address || chunk.is_indexed) continue;
    const bool is_full = 2 * (slots_used_ + most_kept_probes) > slots_.size();
    if (is_full && (slots_.size() < most_slots || left_out_ > most_slots / 64)) index_anew();
    if (!chunk.is_indexed) index(number);
  }
  waiting_.clear();
}

u32 LiveChunks::most_alike(const Probes& probes, u64 settings, size_t& equal_probes) {
  index_waiting();
  equal_probes = 0;
  if (slots_used_ == 0) return RememberedChunks::none;
  struct Candidate {
    u32 chunk;
    size_t equal, last;
  };
  Candidate candidates[8];
  size_t number = 0;
  for (size_t i = 0; i < std::min<size_t>(probes.count, 256); ++i) {
    if (!probes.is_number[i]) continue;
    const u64 key = key_of(probes.layout, settings, i, probes.hashes[i]);
    for (size_t s = size_t(key) & (slots_.size() - 1); slots_[s].chunk != RememberedChunks::none; s = (s + 1) & (slots_.size() - 1)) {
      if (slots_[s].tag != u32(key >> 32)) continue;
      const RememberedChunk& chunk = chunks_[slots_[s].chunk];
      if (!chunk.address || chunk.layout != probes.layout || chunk.settings != settings) continue;
      if (!has_probe(chunk.probes, i, probes.hashes[i])) continue;
      Candidate* const end = candidates + number;
      Candidate* const same = std::find_if(candidates, end, [&](const Candidate& c) { return c.chunk == slots_[s].chunk; });
      if (same == end && number < std::size(candidates))
        candidates[number++] = {slots_[s].chunk, 1, i};
      else if (same != end && std::exchange(same->last, i) != i)  // a chunk may be in the table twice
        ++same->equal;
    }
  }
  if (number == 0) return RememberedChunks::none;
  const Candidate* const best =
      std::max_element(candidates, candidates + number, [](const Candidate& a, const Candidate& b) { return a.equal < b.equal; });
  equal_probes = best->equal;
  return best->chunk;
}

u32 LiveChunks::almost_constant_one(const Probes& probes, u64 settings) const {
  const size_t last = almost_constant_seen_, number = std::min(last, most_almost_constant);
  for (size_t back = 1; back <= number; ++back) {
    const u32 candidate = almost_constant_[(last - back) % most_almost_constant];
    const RememberedChunk& chunk = chunks_[candidate];
    if (!chunk.address || !chunk.stream || chunk.probes.count >= enough_distinctive) continue;
    if (chunk.layout != probes.layout || chunk.settings != settings) continue;
    if (8 * probes.how_many_have(chunk.most_frequent) >= probes.count) return candidate;
  }
  return RememberedChunks::none;
}

}  // namespace stz::hdf5
