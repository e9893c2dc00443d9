// One lock guards everything. It is never held during a call of HDF5 or of the codec. It is taken before the process forks, so that a child
// has a consistent memory. Copies of the plug-in find the memory of the copy that was loaded first by the name of a C function.
#include "recognition/memory.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/loaded_function.h"
#include "options/option_table.h"
#include "recognition/decoded_chunks.h"

namespace stz::recognition {
namespace {

std::mutex mutex;
DecodedChunks* state = nullptr;    // made when the first chunk is remembered
std::atomic<bool> is_used{false};  // whether there is a state

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

// ---- the interface through which other copies of the plug-in call the memory of this one ----

// All members are of C types, as copies may come from different compilers. A changed structure gets another function name.
struct SharedMemory {
  // Returns 0, or 1 when out of memory.
  int (*remember)(const stz_layout* layout, u64 settings, const void* samples, const void* dataset, const Prior* prior, const void* stream,
                  size_t size);
  // Returns the number of streams, or -1 when out of memory or if a stream is gone. keep() gives the place for each stream of `size`
  // bytes, or null. priors: Recognised::prior and own.
  int (*find)(const stz_layout* layout, u64 settings, const void* samples, const void* dataset, Prior priors[2],
              void* (*keep)(void* keeper, size_t size), void* keeper);
  void (*forget)();
};

int remember_here(const stz_layout* layout, u64 settings, const void* samples, const void* dataset, const Prior* prior, const void* stream,
                  size_t size) {
  try {
    Probes probes = take_probes(*layout, samples);
    const std::lock_guard lock(mutex);
    if (!state) state = new DecodedChunks(stream_bytes());
    is_used.store(true, std::memory_order_relaxed);
    state->add(std::move(probes), {settings, dataset, samples}, *prior, stream, size);
    return 0;
  } catch (...) {
    return 1;
  }
}

int find_here(const stz_layout* layout, u64 settings, const void* samples, const void* dataset, Prior priors[2],
              void* (*keep)(void*, size_t), void* keeper) {
  if (!is_used.load(std::memory_order_relaxed)) return 0;
  try {
    {
      const std::lock_guard lock(mutex);
      if (!state || !state->knows(layout_hash(*layout))) return 0;
    }
    Probes probes = take_probes(*layout, samples);
    const std::lock_guard lock(mutex);
    if (!state) return 0;
    const Candidates found = state->find(std::move(probes), {settings, dataset, samples});
    priors[0] = found.prior;
    priors[1] = found.own;
    if (found.exact) return -1;
    for (const u32 chunk : found.chunks) {
      const Buffer<u8> stream = state->stream_of(chunk);
      void* const to = keep(keeper, stream.size());
      if (!to) return -1;
      memcpy(to, stream.data(), stream.size());
    }
    return int(found.chunks.size());
  } catch (...) {
    return -1;
  }
}

void forget_here() {
  DecodedChunks* forgotten = nullptr;
  {
    const std::lock_guard lock(mutex);
    forgotten = std::exchange(state, nullptr);
    is_used.store(false, std::memory_order_relaxed);
  }
  delete forgotten;
}

constexpr SharedMemory own_memory{remember_here, find_here, forget_here};

}  // namespace
}  // namespace stz::recognition

extern "C" STZ_API const void* stz_decoded_chunks_1() { return &stz::recognition::own_memory; }

namespace stz::recognition {
namespace {

using Lookup = const void* (*)();

// The memory of the copy that was loaded first. The order of copies is stable, as plug-ins are never unloaded.
const SharedMemory& find_memory() {
  const auto lookup = reinterpret_cast<Lookup>(first_loaded_function("stz_decoded_chunks_1"));
  return lookup ? *static_cast<const SharedMemory*>(lookup()) : own_memory;
}

// Takes no lock, which a fork could leave held: threads that meet here find the same memory.
const SharedMemory& memory() {
  static std::atomic<const SharedMemory*> known{nullptr};
  const SharedMemory* found = known.load(std::memory_order_acquire);
  if (!found) known.store(found = &find_memory(), std::memory_order_release);
  return *found;
}

}  // namespace

u64 settings_of(const stz_options& options) noexcept {
  u64 hash = 0;
  const auto mix = [&hash](u64 value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const u64 each : {u64(options.mode), u64(options.has_fill), bit_cast_to<u64>(options.bound), options.fill}) mix(each);
  for (const Option& each : option_table)
    if (each.changes_samples) mix(u64(options.*each.field));
  for (const double each : options.layer_bounds) mix(bit_cast_to<u64>(each));
  for (const double each : options.valid_range) mix(bit_cast_to<u64>(each));
  return hash;
}

void remember(const Chunk& chunk, const Prior& prior, const void* stream, size_t size) {
  if (!remembers) return;
  if (memory().remember(&chunk.layout, chunk.settings, chunk.samples, chunk.dataset, &prior, stream, size)) throw std::bad_alloc();
}

Recognised recognise(const Chunk& chunk) noexcept {
  Recognised found;
  if (!remembers) return found;
  const auto keep = [](void* streams, size_t size) -> void* {
    try {
      return static_cast<std::vector<Buffer<u8>>*>(streams)->emplace_back(size).data();
    } catch (...) {
      return nullptr;
    }
  };
  try {
    Prior priors[2] = {};
    found.exact = memory().find(&chunk.layout, chunk.settings, chunk.samples, chunk.dataset, priors, keep, &found.streams) < 0;
    found.prior = priors[0];
    found.own = priors[1];
  } catch (...) {
    found.exact = true;
  }
  return found;
}

void forget() noexcept {
  try {
    memory().forget();
  } catch (...) {
    forget_here();
  }
}

}  // namespace stz::recognition
