// How long kernels take: the median of a few runs, each long enough for the clock; kernels and their references take turns.
#pragma once
#include "harness.h"

namespace check {

// Prints a line for each timing of each kernel: nanoseconds per element, the reference's first; or the same as JSON.
void time_kernels(const std::vector<const Kernels*>& tables, const std::vector<Entry>& entries, bool json);

}  // namespace check
