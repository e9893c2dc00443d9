#include "hdf5/environment.h"

#include <algorithm>
#include <cstdlib>

namespace stz::hdf5 {

int environment_threads() {
  const char* text = std::getenv("H5STZ_THREADS");
  if (!text || !*text) return 0;
  int threads = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return 0;
    threads = std::min(10 * threads + (*text - '0'), 255);
  }
  return threads;
}

}  // namespace stz::hdf5
