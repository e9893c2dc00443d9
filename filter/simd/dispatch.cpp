// Chooses the kernels for this machine: the widest instruction set that it has, or the one that H5STZ_ISA names (baseline, avx2, avx512).
#include <atomic>
#include <cstdlib>

#include "simd/cpu_features.h"
#include "simd/kernels.h"

#if defined(STZ_X86)
#include <cpuid.h>
#endif

namespace stz {

// The kernels of each instruction set, and what its object file was compiled for.
extern const Kernels kernels_baseline;
#if defined(STZ_X86)
extern const Kernels kernels_avx2, kernels_avx512;
extern const CpuFeatures features_avx2, features_avx512;
#endif

namespace {

#if defined(STZ_X86)
struct Variant {
  const Kernels& kernels;
  const CpuFeatures& needed;
};
constexpr Variant wide[] = {{kernels_avx512, features_avx512}, {kernels_avx2, features_avx2}};  // the widest first

// Clang 14 to 16 do not know them in __builtin_cpu_supports.
bool has_f16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
bool has_lzcnt() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
#endif

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features = 0;
#if defined(STZ_X86)
  __builtin_cpu_init();
#define STZ_ASK(name, macro, question) features |= (question) ? feature_bit(CpuFeature::name) : 0;
  STZ_CPU_FEATURES(STZ_ASK)
#undef STZ_ASK
#endif
  return features;
}

const Kernels* kernels_of(const char* isa, [[maybe_unused]] CpuFeatures features) {
#if defined(STZ_X86)
  for (const Variant& variant : wide)
    if (strcmp(isa, variant.kernels.isa) == 0) return variant.needed & ~features ? nullptr : &variant.kernels;
#endif
  return strcmp(isa, kernels_baseline.isa) == 0 ? &kernels_baseline : nullptr;
}

const Kernels* kernels_of(const char* isa) { return kernels_of(isa, cpu_features()); }

const Kernels& choose_kernels(const char* wanted, CpuFeatures features) {
  const bool any = !wanted || !*wanted;
#if defined(STZ_X86)
  for (const Variant& variant : wide)
    if (any && !(variant.needed & ~features)) return variant.kernels;
#endif
  const Kernels* const named = any ? nullptr : kernels_of(wanted, features);
  return named ? *named : kernels_baseline;
}

const Kernels& kernels() {
  static std::atomic<const Kernels*> chosen;  // threads that come first choose the same
  const Kernels* table = chosen.load(std::memory_order_acquire);
  if (!table) chosen.store(table = &choose_kernels(getenv("H5STZ_ISA"), cpu_features()), std::memory_order_release);
  return *table;
}

}  // namespace stz
