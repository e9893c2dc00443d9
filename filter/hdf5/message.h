// One line of text for the user, built where an error is found and handed to the HDF5 error stack where the callback
// ends: HDF5 calls made in between (closing a type, say) would clear the stack. Fixed size: no allocation on error paths.
#pragma once
#include <cstdarg>
#include <cstdio>

namespace stz::hdf5 {

struct Message {
  char text[640] = "";

  __attribute__((format(printf, 2, 3))) void set(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
  }
};

}  // namespace stz::hdf5
