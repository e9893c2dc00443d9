// The environment is read at every call, because a program may change it before it forks.
#include "intercept/run_stats.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

namespace stz::intercept {
namespace {

const char* stats_path() {
  const char* const path = getenv("H5STZ_RUN_STATS");
  return path && *path ? path : nullptr;
}

}  // namespace

bool stats_are_wanted() noexcept { return stats_path() != nullptr; }

void append_stats(const char* line, size_t length) noexcept {
  const char* const path = stats_path();
  if (!path) return;
  const int error = errno;  // errno of the program is kept
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file >= 0) {
    if (write(file, line, length) < 0) { /* there is nobody to tell */
    }
    close(file);
  }
  errno = error;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 32 || each == '"' || each == '\\')
      result += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    else
      result += each;
  }
  return result + "\"";
}

}  // namespace stz::intercept
