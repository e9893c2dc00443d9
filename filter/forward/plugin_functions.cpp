// The plug-in is found by the place of this library. The dynamic linker cannot find it by name: the process may hold another version of the
// plug-in with the same name, and a program's own libstz.so would take the calls.
#include "forward/plugin_functions.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/message.h"
#include "stz.h"

namespace stz::forward {
namespace {

// Absolute paths.
struct Paths {
  char folder[PATH_MAX] = "";       // of this library
  char plugin[PATH_MAX + 32] = "";  // empty if there is none

  Paths() noexcept {
    static const char anchor = 0;
    Dl_info self;
    if (!dladdr(&anchor, &self) || !realpath(self.dli_fname, folder)) return;
    char* const name = strrchr(folder, '/');
    *name = 0;
    for (const char* above : {"", "/.."}) {  // the Python binding lies beside plugins/, the others in lib/ and connector/
      snprintf(plugin, sizeof plugin, "%s%s/plugins/libh5stz.so", folder, above);
      if (access(plugin, F_OK) == 0) return;
    }
    *plugin = 0;
  }
};

// Made when the library is loaded: the name that dladdr knows may be relative, and the program may change its directory later.
const Paths paths;

enum State { untried, describing, failed };
std::atomic<State> state{untried};
std::atomic<void*> plugin{nullptr};
Message problem;  // complete when the state is `failed`

// Keeps the first description of a failure.
template <class... Arguments>
void* fail(const char* format, Arguments... arguments) noexcept {
  State expected = untried;
  if (state.compare_exchange_strong(expected, describing)) {
    problem.set(format, arguments...);
    state.store(failed, std::memory_order_release);
  }
  return nullptr;
}

// Threads that come here at the same time all load the same plug-in.
void* load() noexcept {
  if (state.load(std::memory_order_relaxed) != untried) return nullptr;
  if (!*paths.plugin) return fail("in %s and the folder above, the HDF5 plug-in plugins/libh5stz.so is missing", paths.folder);
  void* const loaded = dlopen(paths.plugin, RTLD_NOW | RTLD_LOCAL);
  const char* const error = loaded ? nullptr : dlerror();
  if (!loaded) return fail("the HDF5 plug-in %s cannot be loaded (%s)", paths.plugin, error ? error : "no reason given");
  const auto version = reinterpret_cast<decltype(&stz_version_number)>(dlsym(loaded, "stz_version_number"));
  if (!version || version() != STZ_VERSION_NUMBER) {
    return fail("the HDF5 plug-in %s does not have version %s, which the libraries beside it have", paths.plugin, STZ_VERSION_STRING);
  }
  plugin.store(loaded, std::memory_order_release);
  return loaded;
}

}  // namespace

void* plugin_function(const char* name) noexcept {
  void* loaded = plugin.load(std::memory_order_acquire);
  if (!loaded) loaded = load();
  return loaded ? dlsym(loaded, name) : nullptr;
}

const char* plugin_problem() noexcept {
  return state.load(std::memory_order_acquire) == failed ? problem.text : "the HDF5 plug-in libh5stz.so cannot be used";
}

}  // namespace stz::forward
