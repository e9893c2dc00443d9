// What a library inside of a program tells `h5stz run`: lines of JSON in the file named by H5STZ_RUN_STATS, which all processes of a
// command share.
#pragma once
#include <cstddef>
#include <string>

namespace stz::intercept {

// Does anybody want to know?
bool stats_are_wanted() noexcept;

// Appends a line, which ends with a newline, whole, whatever other processes write. Nothing happens if nobody wants it or it cannot be
// done: there is nobody to tell.
void append_stats(const char* line, size_t length) noexcept;

// The text as a string of JSON. Bytes above 127 stay as they are, which need not be UTF-8.
std::string quoted(const std::string& text);

}  // namespace stz::intercept
