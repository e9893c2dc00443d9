// The C functions of the codec in the plug-in of the same package, for libraries that hold no codec of their own.
#pragma once

namespace stz::forward {

// Returns the function `name` of libh5stz.so in STZ_PLUGIN_FOLDER, a path relative to the folder of the library with this code. The first
// call loads the plug-in, and it stays loaded. Returns nullptr if the plug-in is missing, cannot be loaded or has another version.
// Thread-safe. Takes no lock of its own, which a fork could leave held.
void* plugin_function(const char* name) noexcept;

// Returns the reason why plugin_function returned nullptr: static text.
const char* plugin_problem() noexcept;

}  // namespace stz::forward
