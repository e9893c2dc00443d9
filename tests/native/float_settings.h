// Every way in which a program may have set the floating-point unit of this machine before it calls a library: roundings, subnormal
// numbers flushed to zero, default NaNs, exceptions that trap. For programs that do no arithmetic themselves between set() and restore().
#pragma once
#include <cfenv>
#include <cstdint>
#include <vector>

namespace float_settings {

// The control and status registers of the unit as one number: what a library must leave as it was.
inline uint64_t registers() {
#if defined(__x86_64__)
  uint32_t mxcsr;
  uint16_t x87;
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87) : : "memory");
  return mxcsr | uint64_t(x87) << 32;
#elif defined(__aarch64__)
  uint64_t control, status;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status) : : "memory");
  return control | status << 32;
#elif defined(__riscv_flen)
  uint64_t control;
  __asm__ volatile("frcsr %0" : "=r"(control) : : "memory");
  return control;
#elif defined(__s390x__)
  uint32_t control;
  __asm__ volatile("efpc %0" : "=d"(control) : : "memory");
  return control;
#else
  return uint64_t(std::fegetround()) | uint64_t(std::fetestexcept(FE_ALL_EXCEPT)) << 32;
#endif
}

// Sets them to what registers() returned.
inline void restore(uint64_t saved) {
#if defined(__x86_64__)
  const uint32_t mxcsr = uint32_t(saved);
  const uint16_t x87 = uint16_t(saved >> 32);
  __asm__ volatile("fnclex\n\tfldcw %1\n\tldmxcsr %0" : : "m"(mxcsr), "m"(x87) : "memory");
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(saved & 0xffffffff), "r"(saved >> 32) : "memory");
#elif defined(__riscv_flen)
  __asm__ volatile("fscsr %0" : : "r"(saved) : "memory");
#elif defined(__s390x__)
  __asm__ volatile("sfpc %0" : : "d"(uint32_t(saved)) : "memory");
#else
  std::fesetenv(FE_DFL_ENV);
  std::fesetround(int(saved & 0xffffffff));
#endif
}

struct Setting {
  const char* name;
  bool (*set)();  // false: this machine does not have it, and nothing was set
};

template <int mode>
bool round_as() {
  return std::fesetround(mode) == 0;
}

// The registers with these bits set and those bits cleared.
template <uint64_t ones, uint64_t zeros = 0>
bool with_bits() {
  restore((registers() & ~zeros) | ones);
  return true;
}

// Every exception that the machine can raise ends the program. Emulators and many processors have no such thing.
inline bool trap() {
#if defined(__GLIBC__) && !defined(__riscv)  // which has no traps: the linker warns of both functions
  const uint64_t before = registers();
  if (feenableexcept(FE_ALL_EXCEPT) != -1 && fegetexcept() == FE_ALL_EXCEPT) {
#if defined(__x86_64__)
    with_bits<0, 0x1f80>();  // operands that are subnormal as well
#endif
    return true;
  }
  restore(before);
#endif
  return false;
}

// All that this machine has; the first is the default.
inline std::vector<Setting> all() {
  const std::vector<Setting> known = {
      {"default", [] { return true; }},
      {"rounding down", round_as<FE_DOWNWARD>},
      {"rounding up", round_as<FE_UPWARD>},
      {"rounding to zero", round_as<FE_TOWARDZERO>},
#if defined(__x86_64__)
      {"results flushed", with_bits<0x8000>},
      {"operands and results flushed, rounding up", with_bits<0x8000 | 0x0040 | 0x4000>},
#elif defined(__aarch64__)
      {"flushed, also in half precision", with_bits<1 << 24 | 1 << 19>},
      {"default NaN, the other half precision", with_bits<1 << 25 | 1 << 26>},
      {"flushed, rounding up", with_bits<1 << 24 | 1 << 22>},
#elif defined(__riscv_flen)
      {"rounding ties away", with_bits<4 << 5, 7 << 5>},
#elif defined(__s390x__)
      {"rounding to odd", with_bits<7>},
#endif
      {"trapping", trap},
  };
  const uint64_t before = registers();
  std::vector<Setting> found;
  for (const Setting& setting : known) {
    if (setting.set()) found.push_back(setting);
    restore(before);
  }
  return found;
}

}  // namespace float_settings
