// The plug-in is found by the place of this library. The dynamic linker cannot find it by name: the process may hold another version of the
// plug-in with the same name, and a program's own libstz.so would take the calls.
#include "forward/plugin_functions.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__ELF__)
#include <link.h>
#endif

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/common.h"
#include "base/message.h"
#include "stz.h"

// Ends every text. The binding for Python replaces it by advice of its own.
#define STZ_CURE "; install h5stz again"

namespace stz::forward {
namespace {

// Absolute paths.
struct Paths {
  char plugin[2 * PATH_MAX] = "";
  char problem[2 * PATH_MAX + 64] = "";  // if nothing better is known

  Paths() noexcept {
    static const char anchor = 0;
    Dl_info self;
    if (!dladdr(&anchor, &self)) return;
    char name[PATH_MAX] = "";
    if (*self.dli_fname != '/' && (!getcwd(name, sizeof name) || strlen(name) + strlen(self.dli_fname) + 2 > sizeof name)) return;
    if (*self.dli_fname != '/') strcat(name, "/");
    strncat(name, self.dli_fname, sizeof name - strlen(name) - 1);
    set(name);
    if (access(plugin, F_OK) != 0) {  // this library is a link to that of the package
      char linked[PATH_MAX];
      if (realpath(name, linked)) set(linked);
      if (access(plugin, F_OK) != 0) set(name);
    }
    snprintf(problem, sizeof problem, "the HDF5 plug-in %s cannot be used" STZ_CURE, plugin);
  }

 private:
  void set(const char* library) {
    const char* const slash = strrchr(library, '/');
    snprintf(plugin, sizeof plugin, "%.*s/" STZ_PLUGIN_FOLDER "/libh5stz.so", static_cast<int>(slash - library), library);
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

// Whether a file has all bytes that its ELF header promises. The dynamic linker maps them without a look, and a missing one ends the
// process.
bool is_whole(const char* name) noexcept {
#if defined(__ELF__)
  const int file = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return true;  // dlopen says why
  struct stat facts;
  ElfW(Ehdr) header;
  bool whole = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  if (whole && pread(file, &header, sizeof header, 0) == ssize_t(sizeof header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
    whole = header.e_phentsize == sizeof(ElfW(Phdr));
    for (int i = 0; whole && i < header.e_phnum; i++) {
      ElfW(Phdr) part;
      whole = pread(file, &part, sizeof part, static_cast<off_t>(header.e_phoff + i * sizeof part)) == ssize_t(sizeof part) &&
              part.p_offset <= u64(facts.st_size) && part.p_filesz <= u64(facts.st_size) - part.p_offset;
    }
  }
  close(file);
  return whole;
#else
  return *name;
#endif
}

// Threads that come here at the same time all load the same plug-in. After a failure, a later call tries again.
void* load() noexcept {
  if (access(paths.plugin, F_OK) != 0) return fail("the HDF5 plug-in %s is missing" STZ_CURE, paths.plugin);
  if (!is_whole(paths.plugin)) return fail("the HDF5 plug-in %s is truncated, or not a file" STZ_CURE, paths.plugin);
  void* const loaded = dlopen(paths.plugin, RTLD_NOW | RTLD_LOCAL);
  const char* const error = loaded ? nullptr : dlerror();
  if (!loaded) return fail("the HDF5 plug-in %s cannot be loaded (%s)" STZ_CURE, paths.plugin, error ? error : "no reason given");
  // A library that forwards to the plug-in itself has no such entry point, and its version must not be asked for.
  const bool is_plugin = dlsym(loaded, "H5PLget_plugin_info");
  const auto version = reinterpret_cast<decltype(&stz_version_number)>(dlsym(loaded, "stz_version_number"));
  if (!is_plugin || !version || version() != STZ_VERSION_NUMBER) {
    return fail("the HDF5 plug-in %s does not have version %s, which the libraries beside it have" STZ_CURE, paths.plugin,
                STZ_VERSION_STRING);
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

const char* plugin_problem() noexcept { return state.load(std::memory_order_acquire) == failed ? problem.text : paths.problem; }

}  // namespace stz::forward

#undef STZ_CURE
