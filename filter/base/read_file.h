// Reading from a place of an open file.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/common.h"

namespace stz {

// Reads bytes [offset, offset + size) of the file; its position does not change. False if the file lacks them or cannot be read.
inline bool read_file(int descriptor, u64 offset, u64 size, void* out) {
  constexpr u64 most_at_once = u64{1} << 30;
  auto* to = static_cast<u8*>(out);
  while (size > 0) {
    const ssize_t got = pread(descriptor, to, static_cast<size_t>(std::min(size, most_at_once)), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<u64>(got);
    size -= static_cast<u64>(got);
  }
  return true;
}

}  // namespace stz
