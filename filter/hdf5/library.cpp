// Finds the HDF5 functions of the calling library (library.h). Invariant: every resolved function lies in the same loaded
// object as the caller. A program with a static, hidden HDF5 may also have a shared libhdf5 in its global scope. Ids of one, passed to
// the other, would name an unrelated object.
#include "hdf5/library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/published_list.h"

namespace stz::hdf5 {
namespace {

// The tables that are resolved already.
PublishedList<Library> libraries;

constexpr Library unreachable{};

// A cache from return address to library: calls come from few places, and dladdr searches all symbols of an object. Slots are filled
// once, with entries that are never freed. A reachable library is never unloaded, so entries stay true.
struct FoundAt {
  const void* address;
  const Library* library;
};
constexpr size_t slots = 256;
std::atomic<const FoundAt*> found_at[slots];

std::atomic<const FoundAt*>& slot_of(const void* address) {
  return found_at[(reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 56];
}

void remember(const void* address, const Library* library) {
  auto* const entry = new (std::nothrow) FoundAt{address, library};
  const FoundAt* empty = nullptr;
  if (entry && !slot_of(address).compare_exchange_strong(empty, entry, std::memory_order_release, std::memory_order_relaxed)) delete entry;
}

// The library that a loaded object uses. It never changes, as the dynamic linker binds the object's calls once.
struct UsedBy {
  const void* base;
  std::string object;
  const Library* library;
  const UsedBy* next;
};
PublishedList<UsedBy> uses;

const Library* remembered_use(const Dl_info& caller) {
  const UsedBy* const use =
      uses.find([&](const UsedBy& entry) { return entry.base == caller.dli_fbase && entry.object == caller.dli_fname; });
  return use ? use->library : nullptr;
}

void remember_use(const Dl_info& caller, const Library* library) noexcept {
  try {
    uses.publish(new UsedBy{caller.dli_fbase, caller.dli_fname, library, nullptr});
  } catch (const std::exception&) {  // out of memory: the next call looks it up again
  }
}

// VTK renames the symbols of the HDF5 that it carries.
constexpr const char* prefixes[] = {"", "vtkhdf5_"};

void* find_symbol(void* scope, const char* prefix, const char* name) {
  char full_name[64];
  if (std::snprintf(full_name, sizeof full_name, "%s%s", prefix, name) >= static_cast<int>(sizeof full_name)) return nullptr;
  return dlsym(scope, full_name);
}

bool lies_in(const void* address, const void* base) {
  Dl_info object;
  return address && dladdr(address, &object) && object.dli_fbase == base;
}

template <class Function>
bool resolve(void* scope, const char* prefix, const char* name, const void* base, Function& function) {
  void* address = find_symbol(scope, prefix, name);
  if (!lies_in(address, base)) return false;
  function = reinterpret_cast<Function>(address);
  return true;
}

// Only builds that check their memory have this function, or count their allocations.
bool library_checks_memory(void* scope, const char* prefix, const void* base) {
  void (*check)() = nullptr;
  if (resolve(scope, prefix, "H5MM_final_sanity_check", base, check)) return true;
  u64 counts[16] = {};
  herr_t (*get_counts)(u64*) = nullptr;
  return resolve(scope, prefix, "H5get_alloc_stats", base, get_counts) && get_counts(counts) >= 0 && counts[0] > 0;
}

bool resolve_all(void* scope, const char* prefix, Library& library) {
#define STZ_HDF5_RESOLVE(name, result, parameters) \
  if (!resolve(scope, prefix, #name, library.base, library.name)) return false;
  STZ_HDF5_FUNCTIONS(STZ_HDF5_RESOLVE)
#undef STZ_HDF5_RESOLVE
  // HDF5 1.8 has ids of 32 bits, which fit nothing here. The error stack is saved, as the question for the version clears it.
  hid_t (*take_errors)() = nullptr;
  resolve(scope, prefix, "H5Eget_current_stack", library.base, take_errors);
  unsigned major = 0, minor = 0, release = 0;
  const hid_t errors = take_errors ? take_errors() : -1;
  const herr_t status = library.H5get_libversion(&major, &minor, &release);
  library.checks_memory = library_checks_memory(scope, prefix, library.base);
  if (errors >= 0) library.H5Eset_current_stack(errors);  // closes `errors` too
  if (status < 0 || (major == 1 && minor < 10)) return false;

  resolve(scope, prefix, "H5Eis_paused", library.base, library.H5Eis_paused);

  const auto data = [&](void* where, const char* name) { return static_cast<const hid_t*>(find_symbol(where, prefix, name)); };
  library.error_class = data(scope, "H5E_ERR_CLS_g");
  library.error_major = data(scope, "H5E_PLINE_g");
  library.error_minor = data(scope, "H5E_CANTFILTER_g");
  library.copied_error_class = data(RTLD_DEFAULT, "H5E_ERR_CLS_g");
  library.copied_error_major = data(RTLD_DEFAULT, "H5E_PLINE_g");
  library.copied_error_minor = data(RTLD_DEFAULT, "H5E_CANTFILTER_g");
  return true;
}

void resolve_caller(const Dl_info& caller, Library& library) {
  library.base = caller.dli_fbase;
  // The handle is kept open, so that the object stays loaded and its address identifies it. The main program has no handle if it was
  // started by another name than its own; the global scope begins with it.
  void* const handle = dlopen(caller.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  for (const char* prefix : prefixes) {
    if (resolve_all(handle ? handle : RTLD_DEFAULT, prefix, library)) {
      library.reachable = true;
      library.scope = handle ? handle : RTLD_DEFAULT;
      library.prefix = prefix;
      return;
    }
  }
  library = Library{};
  library.base = caller.dli_fbase;
}

// The first id that the library has set; it initialises its ids with -1.
hid_t first_set(const hid_t* in_library, const hid_t* copied) {
  if (in_library && *in_library > 0) return *in_library;
  return copied && *copied > 0 ? *copied : -1;
}

bool error_stack_is_paused(const Library& library) {
  bool paused = false;
  return library.H5Eis_paused && library.H5Eis_paused(default_error_stack, &paused) >= 0 && paused;
}

}  // namespace

const Library* calling_library(const void* return_address) noexcept {
  const FoundAt* const remembered = slot_of(return_address).load(std::memory_order_acquire);
  if (remembered && remembered->address == return_address) return remembered->library;
  Dl_info caller;
  if (!dladdr(return_address, &caller) || !caller.dli_fname) return &unreachable;
  const Library* library = libraries.find([&](const Library& entry) { return entry.base == caller.dli_fbase; });
  if (!library) {
    auto* const entry = new (std::nothrow) Library{};
    if (!entry) return &unreachable;
    resolve_caller(caller, *entry);
    library = libraries.publish(entry);
  }
  if (library->reachable) remember(return_address, library);
  return library;
}

const Library* library_used_at(const void* return_address) noexcept {
  Dl_info caller;
  if (!dladdr(return_address, &caller) || !caller.dli_fname) return nullptr;
  if (const Library* const used = remembered_use(caller)) return used;
  void* const handle = dlopen(caller.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  // The order is that in which the dynamic linker binds the caller's own calls: the global scope, then the caller and its dependencies.
  // RTLD_DEFAULT would be the global scope and then the scope of the object that loaded this library first.
  void* const global = dlopen(nullptr, RTLD_LAZY);
  const Library* used_library = nullptr;
  for (void* const scope : {global, handle}) {
    for (const char* prefix : prefixes) {
      const void* const address = used_library || !scope ? nullptr : find_symbol(scope, prefix, "H5get_libversion");
      const Library* const library = address ? calling_library(address) : nullptr;
      if (library && library->reachable) used_library = library;
    }
  }
  if (handle) dlclose(handle);
  if (global) dlclose(global);
  if (used_library) remember_use(caller, used_library);
  return used_library;
}

void* library_function(const Library& library, const char* name) noexcept {
  if (!library.reachable) return nullptr;
  void* const address = find_symbol(library.scope, library.prefix, name);
  return lies_in(address, library.base) ? address : nullptr;
}

void push_error(const Library& library, const char* function, const Message& message) noexcept {
  if (!library.reachable) return;
  const hid_t error_class = first_set(library.error_class, library.copied_error_class);
  const hid_t major = first_set(library.error_major, library.copied_error_major);
  const hid_t minor = first_set(library.error_minor, library.copied_error_minor);
  if (error_class < 0 || major < 0 || minor < 0) return;
  // A paused stack takes no record, but its contents can be replaced. Resuming and pausing would clear it.
  const hid_t stack = error_stack_is_paused(library) ? library.H5Ecreate_stack() : default_error_stack;
  library.H5Epush2(stack, "h5stz", function, 0, error_class, major, minor, "h5stz: %s", message.text);
  if (stack > 0) library.H5Eset_current_stack(stack);  // closes `stack` too
}

}  // namespace stz::hdf5
