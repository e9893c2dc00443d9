// Watches what the writes of programs do to datasets that are compressed by rules of H5STZ_COMPRESS (create_preload.cpp).
//
// Where a program writes a part of a chunk that is stored already, HDF5 decodes the chunk and codes it again, and its other samples move
// once more: no longer within the bound of what the program wrote. The chunk cache prevents that while the dataset is open and a chunk is
// incomplete; what it could not prevent is counted here, so that `h5stz run` can say it. The write itself is HDF5's.
#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <string>

#include "compress_rules.h"
#include "create_calls.h"
#include "run_stats.h"
#include "stz_h5.h"

namespace stz::preload {
namespace {

constexpr uint64_t kMostNamed = 16;
std::atomic<uint64_t> rewrites{0};

// The plug-in's count for this thread. HDF5 loads it when it first needs it.
uint64_t lossy_chunks_decoded() noexcept {
  void* const plugin = dlopen("libh5stz.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!plugin) return 0;
  const auto count = reinterpret_cast<uint64_t (*)()>(dlsym(plugin, "stz_h5_lossy_chunks_decoded"));
  const uint64_t found = count ? count() : 0;
  dlclose(plugin);
  return found;
}

void tell_rewrite(const void* caller, Id dataset) noexcept {
  if (rewrites.fetch_add(1) >= kMostNamed || !stats_are_wanted()) return;
  try {
    CreateCalls calls;
    if (!find_create_calls(caller, calls)) return;
    const region::Quiet quiet(*calls.region);
    const std::string line = "{\"rewritten\": " + quoted(name_of(calls, dataset)) + "}\n";
    append_stats(line.data(), line.size());
  } catch (const std::exception&) {  // memory: the number will be there
  }
}

__attribute__((destructor)) void write_rewrites() {
  if (rewrites == 0 || !stats_are_wanted()) return;
  const std::string line = "{\"rewrites\": " + std::to_string(rewrites) + "}\n";
  append_stats(line.data(), line.size());
}

}  // namespace
}  // namespace stz::preload

extern "C" __attribute__((visibility("default"))) herr_t H5Dwrite(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                  const void* buf) {
  using namespace stz::preload;
  const void* const caller = __builtin_return_address(0);
  const auto original = reinterpret_cast<Write>(original_function(caller, "H5Dwrite"));
  if (!original) return -1;
  if (rules_are_empty()) return original(dset, mem_type, mem_space, file_space, dxpl, buf);
  const uint64_t before = lossy_chunks_decoded();
  const Status status = original(dset, mem_type, mem_space, file_space, dxpl, buf);
  if (status >= 0 && lossy_chunks_decoded() != before) tell_rewrite(caller, dset);
  return status;
}
