// One line of text for the user. It is built where an error is found, and goes to the HDF5 error stack at the end of the callback, as HDF5
// calls in between (such as closing a type) would clear the stack. The fixed size avoids allocation on error paths.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <exception>

namespace stz {

struct Message {
  char text[1024] = "";

  __attribute__((format(printf, 2, 3))) void set(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
  }

  // Copies as much as fits into `size` bytes, including the final 0; nothing if there is no buffer.
  void copy_to(char* buffer, size_t size) const {
    if (buffer && size) std::snprintf(buffer, size, "%s", text);
  }
};

// Returns the result of `body`. If it throws, returns `failed` and describes the exception in the message.
template <class Result, class Body>
Result catch_all(Message& message, Result failed, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    message.set("internal error: %s", error.what());
  } catch (...) {
    message.set("internal error: an unknown exception");
  }
  return failed;
}

// Numbers as "40, 48, 32", for a message; numbers that do not fit are left out.
struct ListText {
  template <class Number>
  ListText(const Number* numbers, int count) {
    for (int i = 0, used = 0; i < count && used < static_cast<int>(sizeof text) - 1; ++i)
      used += std::snprintf(text + used, sizeof text - used, "%s%llu", i ? ", " : "", static_cast<unsigned long long>(numbers[i]));
  }
  char text[256] = "";
};

}  // namespace stz
