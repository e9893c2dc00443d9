// Finds the functions (create_calls.h). Invariant: all of one table are of one loaded HDF5.
#include "create_calls.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>

namespace stz::preload {
namespace {

// What a function of HDF5 has been found to be for a loaded object, for good, as the dynamic linker binds calls. Entries are immutable
// once published and never freed; two threads may publish the same.
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

// Where the program is not position-independent and names the variable, the one that HDF5 uses is the program's copy.
Id list_class(const hdf5::Library& library, const char* name) {
  const auto* const own = static_cast<const Id*>(hdf5::library_function(library, name));
  if (own && *own > 0) return *own;
  const auto* const copied = static_cast<const Id*>(dlsym(RTLD_DEFAULT, name));
  return copied && *copied > 0 ? *copied : -1;
}

}  // namespace

bool find_create_calls(const void* return_address, CreateCalls& calls) noexcept {
  calls = {};
  calls.region = region::calls_at(return_address);
  if (!calls.region || !calls.region->complete) return false;
  const hdf5::Library& library = *calls.region->library;
#define STZ_CREATE_FIND(name, result, parameters)                                              \
  calls.name = reinterpret_cast<decltype(calls.name)>(hdf5::library_function(library, #name)); \
  if (!calls.name) return false;
  STZ_CREATE_FUNCTIONS(STZ_CREATE_FIND)
#undef STZ_CREATE_FIND
  calls.creation_class = list_class(library, "H5P_CLS_DATASET_CREATE_ID_g");
  calls.access_class = list_class(library, "H5P_CLS_DATASET_ACCESS_ID_g");
  return calls.creation_class > 0 && calls.access_class > 0;
}

std::string name_of(const CreateCalls& calls, Id object) {
  const long length = calls.H5Iget_name(object, nullptr, 0);
  if (length <= 0) return {};
  std::string name(static_cast<size_t>(length), '\0');
  return calls.H5Iget_name(object, name.data(), name.size() + 1) == length ? name : std::string();
}

void* original_function(const void* return_address, const char* name) noexcept {
  Dl_info caller;
  const bool known = dladdr(return_address, &caller) && caller.dli_fname;
  if (known) {
    for (const Bound* entry = bound_functions.load(std::memory_order_acquire); entry; entry = entry->next)
      if (entry->base == caller.dli_fbase && entry->name == name && entry->object == caller.dli_fname) return entry->function;
  }
  const region::Calls* const calls = region::calls_at(return_address);
  void* function = calls ? hdf5::library_function(*calls->library, name) : nullptr;
  if (!function) function = dlsym(RTLD_NEXT, name);
  if (known && function) remember(caller, name, function);
  return function;
}

}  // namespace stz::preload
