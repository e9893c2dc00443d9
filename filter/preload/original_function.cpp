// Caches the results, as the dynamic linker binds a call only once.
#include "preload/original_function.h"

#include <dlfcn.h>

#include <exception>
#include <string>

#include "base/published_list.h"
#include "hdf5/calls.h"

namespace stz::preload {
namespace {

// The function found for a loaded object; never changes.
struct Bound {
  const void* base;
  std::string object, name;
  void* function;
  const Bound* next;
};
PublishedList<Bound> bound_functions;

void remember(const Dl_info& caller, const char* name, void* function) noexcept {
  try {
    bound_functions.publish(new Bound{caller.dli_fbase, caller.dli_fname, name, function, nullptr});
  } catch (const std::exception&) {  // out of memory: it will be looked up again
  }
}

}  // namespace

void* original_function(const void* return_address, const char* name) noexcept {
  Dl_info caller;
  const bool caller_is_named = dladdr(return_address, &caller) && caller.dli_fname;
  if (caller_is_named) {
    const Bound* const bound = bound_functions.find(
        [&](const Bound& entry) { return entry.base == caller.dli_fbase && entry.name == name && entry.object == caller.dli_fname; });
    if (bound) return bound->function;
  }
  const hdf5::Calls* const calls = hdf5::calls_at(return_address);
  void* function = calls ? hdf5::library_function(*calls->library, name) : nullptr;
  if (!function) function = dlsym(RTLD_NEXT, name);
  if (caller_is_named && function) remember(caller, name, function);
  return function;
}

}  // namespace stz::preload
