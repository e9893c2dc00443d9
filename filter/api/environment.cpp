// Settings in environment variables (stz.h).
#include <algorithm>
#include <cstdlib>

#include "api/number_text.h"
#include "stz_cd_values.h"

namespace {
int is_one(const char* text) { return text && text[0] == '1' && text[1] == 0; }
}  // namespace

extern "C" int stz_environment_verify() { return is_one(std::getenv("H5STZ_VERIFY")); }

extern "C" int stz_environment_check() { return is_one(std::getenv("H5STZ_CHECK")); }

extern "C" int stz_environment_threads() {
  const char* text = std::getenv("H5STZ_THREADS");
  if (!text || !*text) return 0;
  int threads = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return 0;
    threads = std::min(10 * threads + (*text - '0'), STZ_CD_MAX_THREADS);
  }
  return threads;
}

extern "C" uint64_t stz_environment_max_bytes() {
  const char* text = std::getenv("H5STZ_MAX_BYTES");
  uint64_t bytes = 0;
  return text && stz::parse_number(text, bytes) ? bytes : 0;
}

extern "C" double stz_environment_max_error() {
  const char* text = std::getenv("H5STZ_MAX_ERROR");
  double error = 0;
  return text && stz::parse_number(text, error) && error >= 0 ? error : 0;
}
