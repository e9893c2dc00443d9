// For programs that load the plug-in as HDF5 does, with dlopen, and call its callback on threads of their own: the entry points that
// unit/filter_host.h asks for, and CHECKs that end the program at once, on whichever thread.
//
// PLUGIN is the path of libh5stz.so. The core is linked in besides, as the judge of what the plug-in makes.
#pragma once
#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "unit/filter_host.h"

namespace plugin_host {

inline void* symbol(const char* name) {
  static void* const handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  void* const found = handle ? dlsym(handle, name) : nullptr;
  if (found) return found;
  std::fprintf(stderr, "%s: %s\n", name, dlerror());
  std::_Exit(1);
}

template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(symbol(name));
}

// Calls work(number) on so many threads, and waits for them.
inline void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < count; number++) threads.emplace_back(work, number);
  for (std::thread& each : threads) each.join();
}

// A chunk in a file: its stream, what that decodes to, and the values that a program wrote to it last.
struct StoredChunk {
  unit::Bytes stream;
  unit::Samples decoded;
};

inline StoredChunk stored(const unit::Dataset& dataset, unit::u64 seed) {
  StoredChunk chunk{unit::stored_alone(dataset, unit::field(dataset, seed)), {}};
  chunk.decoded = unit::decoded(dataset, chunk.stream);
  return chunk;
}

// Reads a chunk through the filter; its bits must be those that they were.
inline float* read(const unit::Host& host, const unit::Dataset& dataset, const StoredChunk& chunk) {
  float* const samples = host.read(dataset, chunk.stream);
  CHECK(memcmp(samples, chunk.decoded.data(), dataset.bytes()) == 0, "reading is deterministic");
  return samples;
}

// Writes other values to a part of a chunk that was read, a random one: nothing, a plane, or all but one sample. HDF5 flushes it, or its
// cache has no room for it any more. Judged: the bound of what was written, the bits of the rest.
inline void rewrite(const unit::Host& host, const unit::Dataset& dataset, StoredChunk& chunk, float* samples, unit::Random& random) {
  const unit::Samples written = unit::field(dataset, random.bits());
  const size_t from = random.chance(0.3) ? 1 : random.below(dataset.samples()), most = dataset.samples() - from;
  const size_t to = from + (from == 1 ? most : random.chance(0.2) ? 0 : std::min<size_t>(most, 2 * dataset.plane()));
  unit::overwrite(samples, written, from, to);
  const bool flushes = random.chance(0.5);
  chunk.stream = flushes ? host.flush(dataset, samples) : host.evict(dataset, samples);
  if (flushes) host.drop(samples);
  unit::check_rewritten(dataset, chunk.stream, chunk.decoded, written, from, to);
  chunk.decoded = unit::decoded(dataset, chunk.stream);
}

}  // namespace plugin_host

// The plug-in's, where filter_host.h expects them.
extern "C" inline const void* H5PLget_plugin_info() { return plugin_host::function<const void*()>("H5PLget_plugin_info")(); }
extern "C" inline void stz_h5_forget() { plugin_host::function<void()>("stz_h5_forget")(); }

inline void unit::failed(const char* file, int line, const char* condition, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: not so: %s", file, line, condition);
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::fputc('\n', stderr);
  std::_Exit(1);
}
