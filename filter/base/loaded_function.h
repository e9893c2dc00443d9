// Functions of objects that the process has loaded, also of those that only their loader sees (RTLD_LOCAL).
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <vector>

namespace stz {

// The function of this name in the object that has one and was loaded first; null if there is none. The object stays loaded. Throws
// std::bad_alloc.
inline void* first_loaded_function(const char* function) {
  std::vector<const char*> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<const char*>*>(list)->push_back(info->dlpi_name);
        return 0;
      },
      &names);
  for (const char* name : names) {
    void* const object = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (!object) continue;
    if (void* const found = dlsym(object, function)) return found;
    dlclose(object);
  }
  return nullptr;
}

}  // namespace stz
