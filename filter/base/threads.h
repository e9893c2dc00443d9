// The number of threads that a call may use.
#pragma once
#include <algorithm>

#include "base/common.h"

namespace stz {

constexpr i32 most_threads = 256;

// The number of threads for the number that a caller asked for: 0 gives 1, a number beyond the limit gives the limit, a negative number is
// STZ_ERROR_OPTION.
inline int thread_count(i32 asked) {
  require(asked >= 0, STZ_ERROR_OPTION);
  return std::clamp(asked, i32{1}, most_threads);
}

}  // namespace stz
