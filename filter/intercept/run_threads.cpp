#include "intercept/run_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/threads.h"

namespace stz::intercept {
namespace {

constexpr int most_automatic = 16;

// The text as a number from 1 to most_threads; 0 if it is none.
int number_in(const char* text) noexcept {
  if (!text || *text < '0' || *text > '9') return 0;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text, &end, 10);
  return *end == '\0' ? static_cast<int>(std::min<unsigned long>(number, most_threads)) : 0;
}

// Launchers of MPI programs may not bind processes to processors, but tell how many processes share a machine.
int processes_on_machine() noexcept {
  for (const char* const variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const int number = number_in(std::getenv(variable))) return number;
  return 1;
}

int processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // there are more than the set holds
}

}  // namespace

int run_threads() noexcept {
  const char* const text = std::getenv("H5STZ_RUN_THREADS");
  if (!text) return 1;
  if (std::strcmp(text, "auto") != 0) return std::max(number_in(text), 1);
  return std::clamp(processors() / processes_on_machine(), 1, most_automatic);
}

}  // namespace stz::intercept
