// Sets the floating-point control register to what the codec's bits depend on (nearest rounding, subnormal numbers, no traps) for a scope:
// hosts built with -ffast-math flush subnormal numbers, others round differently or trap.
#pragma once
#include "base/common.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace stz {

class FloatingEnvironment {
 public:
#if defined(__x86_64__)
  FloatingEnvironment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
  ~FloatingEnvironment() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  u32 saved_;
#elif defined(__aarch64__)
  FloatingEnvironment() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    __asm__ volatile("msr fpcr, %0" : : "r"(u64(0)));
  }
  ~FloatingEnvironment() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  u64 saved_;
#else
  FloatingEnvironment() {
    fegetenv(&saved_);
    fesetenv(FE_DFL_ENV);
  }
  ~FloatingEnvironment() { fesetenv(&saved_); }

 private:
  fenv_t saved_;
#endif
  FloatingEnvironment(const FloatingEnvironment&) = delete;
};

}  // namespace stz
