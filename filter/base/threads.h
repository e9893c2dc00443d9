// The number of threads that a call uses.
#pragma once
#include "base/common.h"

namespace stz {

constexpr i32 most_threads = 256;

// Fewer samples are not worth threads: starting them and their first use of memory would take longer than they save.
constexpr u64 fewest_worth_threads = u64(1) << 21;
extern u64 fewest_shared_samples;  // the same, but for tests

// The number of threads for the number that a caller asked for: 0 gives 1, a number beyond the limit gives the limit, a negative number is
// STZ_ERROR_OPTION.
int thread_count(i32 asked);
// The number of threads, at most `threads`, that find work in so many samples.
int useful_threads(int threads, u64 samples);

}  // namespace stz
