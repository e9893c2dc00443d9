// The C functions of the codec in the plug-in of the same package, for libraries that hold no codec of their own.
#pragma once

namespace stz::forward {

// Returns the function `name` of plugins/libh5stz.so, which lies beside the library with this code or beside its folder. The first call
// loads the plug-in, and it stays loaded. Returns nullptr if the plug-in is missing, cannot be loaded or has another version.
// Thread-safe. Takes no lock of its own, which a fork could leave held.
void* plugin_function(const char* name) noexcept;

// Returns the reason why plugin_function returned nullptr: static text.
const char* plugin_problem() noexcept;

}  // namespace stz::forward
