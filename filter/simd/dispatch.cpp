// Chooses the kernels for this machine: the widest instruction set that it has, or the one that H5STZ_ISA names (baseline, avx2, avx512).
#include <cstdlib>

#include "simd/kernels.h"

namespace stz {

extern const Kernels kernels_baseline;
#if defined(STZ_X86)
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels* kernels_of(const char* isa) {
#if defined(STZ_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
  if (strcmp(isa, kernels_avx512.isa) == 0) return avx512 ? &kernels_avx512 : nullptr;
  if (strcmp(isa, kernels_avx2.isa) == 0) return avx2 ? &kernels_avx2 : nullptr;
#endif
  return strcmp(isa, kernels_baseline.isa) == 0 ? &kernels_baseline : nullptr;
}

namespace {

const Kernels* choose() {
  const char* wanted = getenv("H5STZ_ISA");
  const bool any = !wanted || !*wanted;
  static const char* const wide[] = {"avx512", "avx2"};
  for (const char* isa : wide)
    if (any || strcmp(wanted, isa) == 0)
      if (const Kernels* found = kernels_of(isa)) return found;
  return &kernels_baseline;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels* const chosen = choose();
  return *chosen;
}

}  // namespace stz
