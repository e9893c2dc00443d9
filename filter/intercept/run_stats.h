// Reports to `h5stz run`: lines of JSON in the file named by H5STZ_RUN_STATS, which all processes of a command share.
#pragma once
#include <cstddef>
#include <string>

namespace stz::intercept {

// Whether a report is wanted.
bool stats_are_wanted() noexcept;

// Appends a complete line (ending in a newline) in one write, so that lines of several processes do not mix. Does nothing if no report is
// wanted, and ignores errors.
void append_stats(const char* line, size_t length) noexcept;

// The text as a JSON string. Bytes above 127 are copied, even if they are not UTF-8.
std::string quoted(const std::string& text);

}  // namespace stz::intercept
