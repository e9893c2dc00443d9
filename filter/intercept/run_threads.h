// The number of threads for reads and writes of whole datasets.
#pragma once

namespace stz::intercept {

// The variable H5STZ_RUN_THREADS: a number, or "auto" for as many threads as there are processors for this process, at most 16.
// Otherwise 1. Read at every call, because a program may change it before it forks.
int run_threads() noexcept;

}  // namespace stz::intercept
