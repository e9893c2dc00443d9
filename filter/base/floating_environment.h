// Sets, for a scope, the floating-point environment that the codec's bits depend on: nearest rounding, subnormal numbers, no traps.
// Restores the caller's environment at the end of the scope, since hosts may use another one: those built with -ffast-math flush subnormal
// numbers, and others round differently, trap, or test the exception flags. Every library function that computes with floating-point
// numbers has one, and every thread that the libraries start.
#pragma once
#include "base/common.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace stz {

class FloatingEnvironment {
 public:
#if defined(__x86_64__)
  // Sets MXCSR, and the x87 unit for long double and for the rounding mode that strtod and printf of glibc obey.
  FloatingEnvironment() {
    const u16 default_control = 0x37f;
    __asm__ volatile("fnstenv %0\n\tfldcw %1" : "=m"(x87_) : "m"(default_control) : "memory");
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr_) : : "memory");
    const u32 default_mxcsr = 0x1f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(default_mxcsr) : "memory");
  }
  ~FloatingEnvironment() {
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr_) : "memory");
    __asm__ volatile("fldenv %0" : : "m"(x87_) : "memory");
  }

 private:
  struct X87 {
    u32 words[7];
  };
  X87 x87_;  // control, status, tags and the last instruction
  u32 mxcsr_;
#elif defined(__aarch64__)
  FloatingEnvironment() {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(u64(0)) : "memory");
  }
  ~FloatingEnvironment() { __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control_), "r"(status_) : "memory"); }

 private:
  u64 control_, status_;
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
