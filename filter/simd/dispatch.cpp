// Chooses the kernels for this machine: the widest instruction set it has, or the one named by H5STZ_ISA (baseline, avx2, avx512).
#include <atomic>
#include <cstdlib>

#include "simd/cpu_features.h"
#include "simd/kernels.h"

#if defined(STZ_X86)
#include <cpuid.h>
#endif

namespace stz {

// The kernels of each instruction set, and the features that its object file was compiled for.
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

// Registers of CPUID, and whether the operating system saves the 256-bit and 512-bit vector registers of threads.
struct Cpu {
  u32 ecx1 = 0, ebx7 = 0, ecx7 = 0, ecx8 = 0;  // ecx8: of leaf 0x80000001
  u32 ymm = 0, zmm = 0;

  Cpu() {
    unsigned unused, ebx, ecx;
    if (__get_cpuid(1, &unused, &unused, &ecx, &unused)) ecx1 = ecx;
    if (__get_cpuid_count(7, 0, &unused, &ebx, &ecx, &unused)) {
      ebx7 = ebx;
      ecx7 = ecx;
    }
    if (__get_cpuid(0x80000001, &unused, &unused, &ecx, &unused)) ecx8 = ecx;
    if (!(ecx1 & bit_OSXSAVE)) return;
    constexpr u32 of_256 = 0x06, of_512 = 0xe6;
    u32 kept, upper;
    __asm__("xgetbv" : "=a"(kept), "=d"(upper) : "c"(0));
    ymm = (kept & of_256) == of_256;
    zmm = (kept & of_512) == of_512;
  }
};
#endif

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features = 0;
#if defined(STZ_X86)
  const Cpu cpu;
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
  static std::atomic<const Kernels*> chosen;  // threads that race here make the same choice
  const Kernels* table = chosen.load(std::memory_order_acquire);
  if (!table) chosen.store(table = &choose_kernels(getenv("H5STZ_ISA"), cpu_features()), std::memory_order_release);
  return *table;
}

}  // namespace stz
