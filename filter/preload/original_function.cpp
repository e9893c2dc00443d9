// Remembers what it found (original_function.h), as the dynamic linker binds a call once.
#include "preload/original_function.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <string>

#include "hdf5/calls.h"

namespace stz::preload {
namespace {

// What a function has been found to be for a loaded object, for good. Entries are immutable once published and never freed; two threads
// may publish the same.
struct Bound {
  const void* base;
  std::string object, name;
  void* function;
  const Bound* next;
};
std::atomic<const Bound*> bound_functions{nullptr};

void remember(const Dl_info& caller, const char* name, void* function) noexcept {
  try {
    auto* const entry = new Bound{caller.dli_fbase, caller.dli_fname, name, function, bound_functions.load(std::memory_order_relaxed)};
    while (!bound_functions.compare_exchange_weak(entry->next, entry, std::memory_order_release, std::memory_order_relaxed)) {}
  } catch (const std::exception&) {  // memory: it will be looked up again
  }
}

}  // namespace

void* original_function(const void* return_address, const char* name) noexcept {
  Dl_info caller;
  const bool known = dladdr(return_address, &caller) && caller.dli_fname;
  if (known) {
    for (const Bound* entry = bound_functions.load(std::memory_order_acquire); entry; entry = entry->next)
      if (entry->base == caller.dli_fbase && entry->name == name && entry->object == caller.dli_fname) return entry->function;
  }
  const hdf5::Calls* const calls = hdf5::calls_at(return_address);
  void* function = calls ? hdf5::library_function(*calls->library, name) : nullptr;
  if (!function) function = dlsym(RTLD_NEXT, name);
  if (known && function) remember(caller, name, function);
  return function;
}

}  // namespace stz::preload
