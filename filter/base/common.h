// Shared by every file of the core: integer names, the failure type, little-endian loads and stores.
// Failures are C++ exceptions inside the core only; abi.cpp turns each into its stable code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "stz_errors.h"

namespace stz {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = std::int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

struct Failure {
  int code;  // stz_errors.h
};

[[noreturn]] inline void fail(int code) { throw Failure{code}; }
inline void require(bool ok, int code) {
  if (!ok) fail(code);
}

constexpr bool host_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

// The stream is little-endian on every host.
template <class T>
inline T load_le(const u8* p) {
  T v = 0;
  if constexpr (host_is_little)
    memcpy(&v, p, sizeof v);
  else
    for (size_t i = 0; i < sizeof v; i++) v |= T(T(p[i]) << (8 * i));
  return v;
}
template <class T>
inline void store_le(u8* p, T v) {
  if constexpr (host_is_little)
    memcpy(p, &v, sizeof v);
  else
    for (size_t i = 0; i < sizeof v; i++) p[i] = u8(v >> (8 * i));
}

inline int floor_log2(u64 v) { return 63 - __builtin_clzll(v); }  // v > 0
inline int ceil_log2(u64 v) { return v <= 1 ? 0 : floor_log2(v - 1) + 1; }

template <class To, class From>
constexpr To bit_cast_to(From v) {
  return __builtin_bit_cast(To, v);  // std::bit_cast, which libc++ has from version 14 on
}

}  // namespace stz
