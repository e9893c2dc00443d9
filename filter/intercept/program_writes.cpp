#include "intercept/program_writes.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <string>

#include "intercept/compress_rules.h"
#include "intercept/run_stats.h"

namespace stz::intercept {
namespace {

constexpr u64 most_named = 16;
std::atomic<u64> rewrites{0};

// The plug-in's count for this thread. HDF5 loads it when it first needs it.
u64 lossy_chunks_decoded() noexcept {
  void* const plugin = dlopen("libh5stz.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!plugin) return 0;
  const auto count = reinterpret_cast<u64 (*)()>(dlsym(plugin, "stz_h5_lossy_chunks_decoded"));
  const u64 decoded = count ? count() : 0;
  dlclose(plugin);
  return decoded;
}

__attribute__((destructor)) void write_rewrites() {
  if (rewrites == 0 || !stats_are_wanted()) return;
  const std::string line = "{\"rewrites\": " + std::to_string(rewrites) + "}\n";
  append_stats(line.data(), line.size());
}

}  // namespace

WatchedWrite::WatchedWrite() noexcept : watched_(!rules_are_empty()), before_(watched_ ? lossy_chunks_decoded() : 0) {}

bool WatchedWrite::rewrote() const noexcept { return watched_ && lossy_chunks_decoded() != before_; }

void count_rewrite(const hdf5::Calls* region, hid_t dataset) noexcept {
  if (rewrites.fetch_add(1) >= most_named || !stats_are_wanted()) return;
  try {
    CreateCalls calls;
    if (!find_create_calls(region, calls)) return;
    const hdf5::SuppressErrors suppressed(*calls.region);
    const std::string line = "{\"rewritten\": " + quoted(name_of(calls, dataset)) + "}\n";
    append_stats(line.data(), line.size());
  } catch (const std::exception&) {  // memory: the number will be there
  }
}

}  // namespace stz::intercept
