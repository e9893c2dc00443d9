// Takes floating-point numbers apart into fields and puts them together (format/float_fields.h). Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

template <class U>
constexpr int sign_place = 8 * int(sizeof(U)) - 1;

template <class U>
STZ_INLINE U low_bits_of(int count) {
  return U((u64(1) << count) - 1);
}

template <class U>
U take_tops(const U* __restrict x, size_t n, int low, u16* __restrict top) {
  const U without_sign = U(U(~U(0)) >> 1);
  U any = 0;
  for (size_t i = 0; i < n; i++) {
    any |= x[i];
    top[i] = u16(U(x[i] & without_sign) >> low);
  }
  return U(any & low_bits_of<U>(low));
}

// Writes one plane: bits [from, from + 8 * sizeof(P)) of each number.
template <class P, class U>
STZ_INLINE void put_plane(const U* __restrict rest, size_t n, int from, u8* __restrict out) {
  for (size_t i = 0; i < n; i++) {
    P p = P(rest[i] >> from);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    if constexpr (sizeof(P) == 4) p = P(__builtin_bswap32(u32(p)));
    if constexpr (sizeof(P) == 2) p = P(__builtin_bswap16(u16(p)));
#endif
    __builtin_memcpy(out + i * sizeof(P), &p, sizeof(P));
  }
}
template <class P, class U>
STZ_INLINE void add_plane(const u8* __restrict in, size_t n, int to, U* __restrict rest) {
  for (size_t i = 0; i < n; i++) {
    P p;
    __builtin_memcpy(&p, in + i * sizeof(P), sizeof(P));
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    if constexpr (sizeof(P) == 4) p = P(__builtin_bswap32(u32(p)));
    if constexpr (sizeof(P) == 2) p = P(__builtin_bswap16(u16(p)));
#endif
    rest[i] = U(rest[i] | U(U(p) << to));
  }
}

// Packs `bits` (1 to 7) bits from `from` on of each number, the first number lowest.
template <class U>
STZ_INLINE void put_bits(const U* rest, size_t n, int from, int bits, u8* out) {
  for (size_t i = 0; i < n; i += 8) {
    u64 eight = 0;
    const size_t count = n - i < 8 ? n - i : 8;
    for (size_t k = 0; k < count; k++) eight |= (u64(rest[i + k]) >> from & ((1u << bits) - 1)) << (k * size_t(bits));
    for (size_t k = 0; 8 * k < count * size_t(bits); k++) *out++ = u8(eight >> (8 * k));
  }
}
template <class U>
STZ_INLINE void add_bits(const u8* in, size_t n, int to, int bits, U* rest) {
  const u32 mask = (1u << bits) - 1;
  for (size_t i = 0; i < n; i += 8) {
    u64 eight = 0;
    const size_t count = n - i < 8 ? n - i : 8, bytes = (count * size_t(bits) + 7) / 8;
    for (size_t k = 0; k < bytes; k++) eight |= u64(*in++) << (8 * k);
    if (count == 8)
      for (size_t k = 0; k < 8; k++) rest[i + k] = U(rest[i + k] | U(U(u32(eight >> (k * size_t(bits))) & mask) << to));
    else
      for (size_t k = 0; k < count; k++) rest[i + k] = U(rest[i + k] | U(U(u32(eight >> (k * size_t(bits))) & mask) << to));
  }
}

// Calls f(its first bit, its bits) for each plane: 32 and 16 bits, 8 bits, and what is left.
template <class U, class F>
STZ_INLINE void for_planes(int bits, F f) {
  int at = 0;
  for (int plane : {32, 16, 8})
    if (bits - at >= plane && plane <= 8 * int(sizeof(U))) {
      f(at, plane);
      at += plane;
    }
  if (at < bits) f(at, bits - at);
}

template <class U>
void put_rests(const U* x, size_t n, const RestPlanes& p, u8* planes) {
  U rest[rest_part];
  const int low = p.low, zeros = p.zeros;
  const U low_bits = low_bits_of<U>(low);
  for (size_t i = 0; i < n; i += rest_part) {
    const size_t count = n - i < rest_part ? n - i : rest_part, first = p.first + i;
    const U* __restrict of_part = x + i;
    for (size_t k = 0; k < count; k++) rest[k] = U(U(U(of_part[k] >> sign_place<U>) << low | (of_part[k] & low_bits)) >> zeros);
    for_planes<U>(
        p.low + 1 - p.zeros, [&](int at, int bits) __attribute__((always_inline)) {
          u8* const out = planes + (size_t(at) * p.all + 7) / 8 + first * size_t(bits) / 8;
          if (bits == 32)
            put_plane<u32>(rest, count, at, out);
          else if (bits == 16)
            put_plane<u16>(rest, count, at, out);
          else if (bits == 8)
            put_plane<u8>(rest, count, at, out);
          else
            put_bits(rest, count, at, bits, out);
        });
  }
}

template <class U>
STZ_INLINE void take_part(const u8* planes, const RestPlanes& p, size_t first, size_t count, U* rest) {
  __builtin_memset(rest, 0, count * sizeof(U));
  for_planes<U>(
      p.low + 1 - p.zeros, [&](int at, int bits) __attribute__((always_inline)) {
        const u8* const in = planes + (size_t(at) * p.all + 7) / 8 + first * size_t(bits) / 8;
        if (bits == 32)
          add_plane<u32>(in, count, at, rest);
        else if (bits == 16)
          add_plane<u16>(in, count, at, rest);
        else if (bits == 8)
          add_plane<u8>(in, count, at, rest);
        else
          add_bits(in, count, at, bits, rest);
      });
}

template <class U>
void take_rests(const u8* planes, size_t n, const RestPlanes& p, U* rest) {
  for (size_t i = 0; i < n; i += rest_part) {
    const size_t count = n - i < rest_part ? n - i : rest_part;
    take_part<U>(planes, p, p.first + i, count, rest + i);
  }
}

template <class U>
void join_fields(const u8* planes, const u8* symbol, const U* top, size_t n, const RestPlanes& p, U* x) {
  U rest[rest_part], tops[rest_part];
  const int low = p.low, zeros = p.zeros;
  const U low_bits = low_bits_of<U>(low);
  for (size_t i = 0; i < n; i += rest_part) {
    const size_t count = n - i < rest_part ? n - i : rest_part;
    take_part<U>(planes, p, p.first + i, count, rest);
    for (size_t k = 0; k < count; k++) tops[k] = top[symbol[i + k]];
    U* __restrict out = x + i;
    for (size_t k = 0; k < count; k++) {
      const U all = U(rest[k] << zeros);
      out[k] = U(tops[k] | U(U(all >> low) << sign_place<U>) | (all & low_bits));
    }
  }
}

}  // namespace
}  // namespace stz
