#include "base/threads.h"

#include <algorithm>

namespace stz {
namespace {

constexpr u64 samples_per_thread = u64(1) << 18;  // a block

}  // namespace

// Tests and fuzzers use small arrays, and must reach threads too.
#if defined(STZ_ALWAYS_THREADS)
u64 fewest_shared_samples = 1;
#else
u64 fewest_shared_samples = fewest_worth_threads;
#endif

int thread_count(i32 asked) {
  require(asked >= 0, STZ_ERROR_OPTION);
  return std::clamp(asked, i32{1}, most_threads);
}

int useful_threads(int threads, u64 samples) {
  if (samples < fewest_shared_samples) return 1;
  return int(std::clamp<u64>(samples / std::min(samples_per_thread, fewest_shared_samples), 1, u64(threads)));
}

}  // namespace stz
