// How many threads a call may use.
#pragma once
#include <algorithm>

#include "base/common.h"

namespace stz {

constexpr i32 most_threads = 256;

// What a caller asked for as a number of threads: 0 is 1, numbers beyond the limit are the limit, negative ones an error.
inline int thread_count(i32 asked) {
  require(asked >= 0, STZ_ERROR_OPTION);
  return std::clamp(asked, i32{1}, most_threads);
}

}  // namespace stz
