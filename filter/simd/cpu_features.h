// The features of x86-64 processors that kernels are compiled for, as bits. What a file was compiled for follows from the macros that the
// compiler predefines, what a machine has is asked in dispatch.cpp: both come from the one table here. Empty on other processors.
#pragma once
#include "base/common.h"

namespace stz {

// X(name, macro of the compiler, question to the machine)
#if defined(STZ_X86)
#define STZ_CPU_FEATURES(X)                                              \
  X(sse3, __SSE3__, __builtin_cpu_supports("sse3"))                      \
  X(ssse3, __SSSE3__, __builtin_cpu_supports("ssse3"))                   \
  X(sse4_1, __SSE4_1__, __builtin_cpu_supports("sse4.1"))                \
  X(sse4_2, __SSE4_2__, __builtin_cpu_supports("sse4.2"))                \
  X(popcnt, __POPCNT__, __builtin_cpu_supports("popcnt"))                \
  X(avx, __AVX__, __builtin_cpu_supports("avx"))                         \
  X(avx2, __AVX2__, __builtin_cpu_supports("avx2"))                      \
  X(fma, __FMA__, __builtin_cpu_supports("fma"))                         \
  X(bmi, __BMI__, __builtin_cpu_supports("bmi"))                         \
  X(bmi2, __BMI2__, __builtin_cpu_supports("bmi2"))                      \
  X(lzcnt, __LZCNT__, has_lzcnt())                                       \
  X(f16c, __F16C__, has_f16c())                                          \
  X(avx512f, __AVX512F__, __builtin_cpu_supports("avx512f"))             \
  X(avx512bw, __AVX512BW__, __builtin_cpu_supports("avx512bw"))          \
  X(avx512vl, __AVX512VL__, __builtin_cpu_supports("avx512vl"))          \
  X(avx512dq, __AVX512DQ__, __builtin_cpu_supports("avx512dq"))          \
  X(avx512cd, __AVX512CD__, __builtin_cpu_supports("avx512cd"))          \
  X(avx512vbmi, __AVX512VBMI__, __builtin_cpu_supports("avx512vbmi"))    \
  X(avx512vbmi2, __AVX512VBMI2__, __builtin_cpu_supports("avx512vbmi2")) \
  X(pclmul, __PCLMUL__, __builtin_cpu_supports("pclmul"))                \
  X(vpclmulqdq, __VPCLMULQDQ__, __builtin_cpu_supports("vpclmulqdq"))
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

// Those that the file which includes this is compiled for. A macro, for the result differs between files: a predefined macro expands to 1,
// one that is not defined to its own name.
#define STZ_CPU_FEATURE_TEXT2(macro) #macro
#define STZ_CPU_FEATURE_TEXT(macro) STZ_CPU_FEATURE_TEXT2(macro)
#define STZ_CPU_FEATURE_COMPILED(name, macro, question) \
  | (STZ_CPU_FEATURE_TEXT(macro)[0] == '1' ? ::stz::feature_bit(::stz::CpuFeature::name) : 0)
#define STZ_COMPILED_CPU_FEATURES (::stz::CpuFeatures(0) STZ_CPU_FEATURES(STZ_CPU_FEATURE_COMPILED))

CpuFeatures cpu_features();  // those of this machine that the operating system supports too

}  // namespace stz
