// Chooses the kernels for this machine: the widest instruction set that it has, or the one that H5STZ_ISA names (baseline, avx2, avx512).
#include <cstdlib>

#include "../simd/kernels.h"

namespace stz {

extern const Kernels kernels_baseline;
#if defined(STZ_X86)
extern const Kernels kernels_avx2, kernels_avx512;
#endif

namespace {

const Kernels* choose() {
  const char* wanted = getenv("H5STZ_ISA");
  auto allowed = [&](const Kernels& k) { return !wanted || !*wanted || strcmp(wanted, k.isa) == 0; };
#if defined(STZ_X86)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                __builtin_cpu_supports("avx512vbmi2");
  if (avx512 && allowed(kernels_avx512)) return &kernels_avx512;
  if (avx2 && allowed(kernels_avx2)) return &kernels_avx2;
#endif
  (void)allowed;
  return &kernels_baseline;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels* const chosen = choose();
  return *chosen;
}

}  // namespace stz
