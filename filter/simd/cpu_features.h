// The features of x86-64 processors that kernels are compiled for, as bits; empty on other processors. One table gives both the features a
// file was compiled for (predefined macros) and those of the machine (dispatch.cpp). The machine is queried by CPUID, because some
// compilers' runtimes do not fill in what __builtin_cpu_supports reads.
#pragma once
#include "base/common.h"

namespace stz {

// X(name, compiler macro, query of the machine: 1 or 0, from CPUID registers by leaf and from the vector state that the system saves)
#if defined(STZ_X86)
#define STZ_CPU_FEATURES(X)                                \
  X(sse3, __SSE3__, cpu.ecx1 >> 0 & 1)                     \
  X(ssse3, __SSSE3__, cpu.ecx1 >> 9 & 1)                   \
  X(sse4_1, __SSE4_1__, cpu.ecx1 >> 19 & 1)                \
  X(sse4_2, __SSE4_2__, cpu.ecx1 >> 20 & 1)                \
  X(popcnt, __POPCNT__, cpu.ecx1 >> 23 & 1)                \
  X(avx, __AVX__, cpu.ecx1 >> 28 & cpu.ymm)                \
  X(avx2, __AVX2__, cpu.ebx7 >> 5 & cpu.ymm)               \
  X(fma, __FMA__, cpu.ecx1 >> 12 & cpu.ymm)                \
  X(bmi, __BMI__, cpu.ebx7 >> 3 & 1)                       \
  X(bmi2, __BMI2__, cpu.ebx7 >> 8 & 1)                     \
  X(lzcnt, __LZCNT__, cpu.ecx8 >> 5 & 1)                   \
  X(f16c, __F16C__, cpu.ecx1 >> 29 & cpu.ymm)              \
  X(avx512f, __AVX512F__, cpu.ebx7 >> 16 & cpu.zmm)        \
  X(avx512bw, __AVX512BW__, cpu.ebx7 >> 30 & cpu.zmm)      \
  X(avx512vl, __AVX512VL__, cpu.ebx7 >> 31 & cpu.zmm)      \
  X(avx512dq, __AVX512DQ__, cpu.ebx7 >> 17 & cpu.zmm)      \
  X(avx512cd, __AVX512CD__, cpu.ebx7 >> 28 & cpu.zmm)      \
  X(avx512vbmi, __AVX512VBMI__, cpu.ecx7 >> 1 & cpu.zmm)   \
  X(avx512vbmi2, __AVX512VBMI2__, cpu.ecx7 >> 6 & cpu.zmm) \
  X(pclmul, __PCLMUL__, cpu.ecx1 >> 1 & 1)                 \
  X(vpclmulqdq, __VPCLMULQDQ__, cpu.ecx7 >> 10 & cpu.ymm)
#else
#define STZ_CPU_FEATURES(X)
#endif

using CpuFeatures = u32;  // bit k: feature k of the table

enum class CpuFeature : int {
#define STZ_CPU_FEATURE_NUMBER(name, macro, question) name,
  STZ_CPU_FEATURES(STZ_CPU_FEATURE_NUMBER)
#undef STZ_CPU_FEATURE_NUMBER
};
consteval CpuFeatures feature_bit(CpuFeature feature) { return CpuFeatures(1) << int(feature); }

// The features that the including file is compiled for. This is a macro because the result differs between files. A predefined macro
// expands to 1, an undefined one to its own name.
#define STZ_CPU_FEATURE_TEXT2(macro) #macro
#define STZ_CPU_FEATURE_TEXT(macro) STZ_CPU_FEATURE_TEXT2(macro)
#define STZ_CPU_FEATURE_COMPILED(name, macro, question) \
  | (STZ_CPU_FEATURE_TEXT(macro)[0] == '1' ? ::stz::feature_bit(::stz::CpuFeature::name) : 0)
#define STZ_COMPILED_CPU_FEATURES (::stz::CpuFeatures(0) STZ_CPU_FEATURES(STZ_CPU_FEATURE_COMPILED))

CpuFeatures cpu_features();  // features of this machine that the operating system supports too

}  // namespace stz
