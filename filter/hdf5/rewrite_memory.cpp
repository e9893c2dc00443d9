// One lock for everything, which is never held during a call of HDF5 or of the codec. It is taken before the process forks, so that a child
// has a memory that is whole.
#include "hdf5/rewrite_memory.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "hdf5/live_chunks.h"
#include "hdf5/peek.h"

namespace stz::hdf5 {
namespace {

struct State {
  explicit State(u64 stream_bytes) : chunks(stream_bytes), live(chunks) {}
  RememberedChunks chunks;
  LiveChunks live;
};

std::mutex mutex;
State* state = nullptr;                        // made when the first chunk is remembered
std::atomic<bool> is_used{false};              // is there a state?
std::atomic<bool> has_almost_constant{false};  // was there a chunk that is not distinct?

__attribute__((constructor)) void lock_for_forks() {
  pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

u64 stream_bytes() {
  constexpr u64 most_mib = StreamPool::most_bytes >> 20;
  const char* const text = std::getenv("H5STZ_REWRITE_MEMORY");
  char* end = nullptr;
  const unsigned long long mib = text && *text >= '0' && *text <= '9' ? std::strtoull(text, &end, 10) : 0;
  return (end && *end == '\0' ? std::min<u64>(mib, most_mib) : 128) << 20;
}

void remove(u32 chunk) {
  if (const uintptr_t address = state->chunks[chunk].address) state->live.end(reinterpret_cast<const void*>(address), 1);
  state->chunks.remove(chunk);
}

// What was remembered of the same samples, unless they may exist twice.
void remove_alike(const Probes& probes, const Chunk& chunk, u64 fingerprint) {
  for (u32 each = state->chunks.first_alike(fingerprint); each != RememberedChunks::none;) {
    const RememberedChunk& alike = state->chunks[each];
    const u32 next = alike.next_alike;
    if (alike.fingerprint == fingerprint && alike.layout == probes.layout && alike.settings == chunk.settings && !alike.address)
      remove(each);
    each = next;
  }
}

// The remembered chunk that has all probes of this one, of the same settings if there is one; those that HDF5 may hold go first.
u32 same_samples(const Probes& probes, const Chunk& chunk, u64 fingerprint) {
  u32 best = RememberedChunks::none;
  int best_rank = -1;
  for (u32 each = state->chunks.first_alike(fingerprint); each != RememberedChunks::none; each = state->chunks[each].next_alike) {
    const RememberedChunk& alike = state->chunks[each];
    if (alike.fingerprint != fingerprint || alike.layout != probes.layout) continue;
    const int rank = 2 * (alike.settings == chunk.settings) + (alike.address != 0);
    if (rank > best_rank) best = each, best_rank = rank;
  }
  return best;
}

Recognised rewrite_of(u32 number) {
  const RememberedChunk& chunk = state->chunks[number];
  if (!chunk.stream) return {Storage::exact, {}, chunk.prior_bound};
  return {Storage::rewrite, state->chunks.stream_of(number), chunk.prior_bound};
}

size_t equal_probes(const RememberedChunk& chunk, const Probes& probes) {
  size_t equal = 0;
  for (size_t k = 0; k < chunk.probes.count; ++k) equal += probes.hashes[chunk.probes.position[k]] == chunk.probes.hash[k];
  return equal;
}

// What the address tells.
struct AtAddress {
  u32 chunk = RememberedChunks::none;
  size_t usable = 0;  // of a buffer whose stream was forgotten: is it the decoded one for certain?
};

AtAddress at_address(const Library& library, const Chunk& chunk, const Probes& probes) {
  const LiveBuffer* const buffer = state->live.at(chunk.samples);
  if (!buffer || buffer->bytes != chunk.bytes) return {};
  if (buffer->usable && usable_bytes(library, const_cast<void*>(chunk.samples)) != buffer->usable) return {};  // freed since
  if (state->chunks[buffer->chunk].layout != probes.layout) return {};
  return {buffer->chunk, buffer->usable};
}

// Is the block at this address, at which there is memory, of the size that it had? A program's own array may have come to lie there, and be
// what it writes now.
bool is_same_block(uintptr_t address, u64 header) {
  const uintptr_t place = address - block_header_bytes;
  u64 word = 0;
  bool readable = false;
  return header == 0 || (peek(&place, 1, &word, &readable) && readable && block_header_size(word) == header);
}

bool same_stream(const Recognised& a, const Recognised& b) {
  const size_t size = a.previous.size();
  return size > 0 && b.previous.size() == size && memcmp(a.previous.data(), b.previous.data(), size) == 0;
}

// Storage::bounded unless HDF5 holds these very samples in a buffer that we decoded to, and now passes a copy. Chunks that have become
// equal may have different samples that have used their bound; nothing tells which one was copied, so that it is stored exactly. Releases
// the lock to compare.
Recognised copied_chunk(std::unique_lock<std::mutex>& lock, const Chunk& chunk, const Probes& probes) {
  Recognised found;
  for (const uintptr_t address : state->live.holders_of(chunk.samples, chunk.bytes, chunk.dataset)) {
    lock.unlock();
    const bool is_copy = holds(address, chunk.samples, chunk.bytes);
    lock.lock();
    if (!state) return found;
    const LiveBuffer* const buffer = is_copy ? state->live.at(reinterpret_cast<const void*>(address)) : nullptr;
    if (!buffer || buffer->bytes != chunk.bytes || !is_same_block(address, buffer->header)) continue;
    const RememberedChunk& remembered = state->chunks[buffer->chunk];
    if (remembered.layout != probes.layout) continue;
    Recognised other = rewrite_of(buffer->chunk);
    if (found.storage == Storage::bounded)
      found = std::move(other);
    else if (!same_stream(found, other))
      return {Storage::exact, {}, std::max(found.prior_bound, other.prior_bound)};
  }
  return found;
}

Recognised by_probes(const Chunk& chunk, const Probes& probes, u64 fingerprint) {
  const u32 same = same_samples(probes, chunk, fingerprint);
  if (same != RememberedChunks::none) {
    const RememberedChunk& remembered = state->chunks[same];
    if (remembered.settings == chunk.settings) return rewrite_of(same);
    return {Storage::bounded, {}, remembered.prior_bound};
  }
  size_t equal = 0;
  const u32 alike = state->live.most_alike(probes, chunk.settings, equal);
  if (alike != RememberedChunks::none && (state->chunks[alike].stream || equal >= enough_distinctive)) return rewrite_of(alike);
  const u32 constant = state->live.almost_constant_one(probes, chunk.settings);
  return constant != RememberedChunks::none ? rewrite_of(constant) : Recognised{};
}

}  // namespace

u64 settings_of(const stz_options& options) noexcept {
  u64 hash = 0;
  for (const u64 each : {u64(options.mode), u64(options.has_fill), bit_cast_to<u64>(options.bound), options.fill, u64(options.block),
                         u64(options.layers), u64(options.append_axis), u64(options.integers), u64(options.enhance)}) {
    hash = (hash ^ each) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  for (const double each : options.layer_bounds) hash = (hash ^ bit_cast_to<u64>(each)) * 0x9e3779b97f4a7c15;
  return hash;
}

void remember_decoded(const Library& library, const Chunk& chunk, double prior_bound, const void* stream, size_t size) {
  if (!remembers) return;
  Probes probes;
  take_probes(chunk.layout, chunk.samples, probes);
  const u64 fingerprint = probes.fingerprint(chunk.samples, chunk.bytes);
  const size_t usable = usable_bytes(library, const_cast<void*>(chunk.samples));
  const std::lock_guard lock(mutex);
  if (!state) state = new State(stream_bytes());
  is_used.store(true, std::memory_order_relaxed);
  if (!probes.is_distinct()) has_almost_constant.store(true, std::memory_order_relaxed);
  remove_alike(probes, chunk, fingerprint);
  if (state->chunks.size() >= RememberedChunks::most) remove(state->chunks.oldest());
  const u32 number = state->chunks.add(fingerprint);
  RememberedChunk& remembered = state->chunks[number];
  remembered.layout = probes.layout;
  remembered.settings = chunk.settings;
  remembered.prior_bound = prior_bound;
  remembered.probes = probes.kept;
  remembered.most_frequent = probes.most_frequent;
  try {
    state->chunks.keep_stream(number, stream, size, probes.is_distinct());
    state->live.add(chunk.samples, {number, chunk.bytes, usable, block_header(chunk.samples, usable), chunk.dataset});
  } catch (...) {
    state->chunks.remove(number);
    throw;
  }
}

void reuse(const Memory& input, const Memory& output) noexcept {
  if (!remembers || !is_used.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex);
  if (!state) return;
  state->live.end(input.begin, input.bytes);
  state->live.end(output.begin, output.bytes);
}

Recognised recognise(const Library& library, const Chunk& chunk) {
  if (!remembers || !is_used.load(std::memory_order_relaxed)) return {};
  Probes probes;
  take_probes(chunk.layout, chunk.samples, probes);
  const bool comparable = probes.is_distinct() || has_almost_constant.load(std::memory_order_relaxed);
  const u64 fingerprint = comparable ? probes.fingerprint(chunk.samples, chunk.bytes) : 0;
  std::unique_lock lock(mutex);
  if (!state) return {};
  if (const AtAddress there = at_address(library, chunk, probes); there.chunk != RememberedChunks::none) {
    const RememberedChunk& remembered = state->chunks[there.chunk];
    if (remembered.stream || equal_probes(remembered, probes) > 0) return rewrite_of(there.chunk);
    const double prior_bound = remembered.prior_bound;
    lock.unlock();
    if (marks_show(library, chunk.bytes, there.usable)) return {Storage::exact, {}, prior_bound};
    lock.lock();
    if (!state) return {};
  }
  state->live.end(chunk.samples, chunk.bytes);
  Recognised copied = copied_chunk(lock, chunk, probes);
  if (!state || copied.storage != Storage::bounded) return copied;
  return by_probes(chunk, probes, fingerprint);
}

void forget_decoded() noexcept {
  State* forgotten = nullptr;
  {
    const std::lock_guard lock(mutex);
    forgotten = std::exchange(state, nullptr);
    is_used.store(false, std::memory_order_relaxed);
    has_almost_constant.store(false, std::memory_order_relaxed);
  }
  delete forgotten;
}

}  // namespace stz::hdf5
