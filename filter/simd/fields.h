// Takes floating-point numbers apart into fields and puts them together (format/float_fields.h). Included by kernels.cpp only.
#pragma once
#include <utility>

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
// Packs `bits` (1 to 7) bits from `from` on of each number, the first number lowest. Eight numbers fill `bits` bytes; where at least eight
// bytes follow in the plane, eight are written and read at a time.
template <class U>
STZ_INLINE void put_bits(const U* rest, size_t n, int from, int bits, u8* out) {
  const u32 mask = (1u << bits) - 1;
  size_t i = 0;
  for (; i + 64 <= n; i += 8, out += bits) {
    u64 eight = 0;
    for (size_t k = 0; k < 8; k++) eight |= u64(u32(rest[i + k] >> from) & mask) << (k * size_t(bits));
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    __builtin_memcpy(out, &eight, 8);
  }
  for (; i < n; i += 8) {
    u64 eight = 0;
    const size_t count = n - i < 8 ? n - i : 8;
    for (size_t k = 0; k < count; k++) eight |= u64(u32(rest[i + k] >> from) & mask) << (k * size_t(bits));
    for (size_t k = 0; 8 * k < count * size_t(bits); k++) *out++ = u8(eight >> (8 * k));
  }
}
// The inverse, one number in each byte.
STZ_INLINE void take_bits(const u8* in, size_t n, int bits, u8* out) {
  const u32 mask = (1u << bits) - 1;
  size_t i = 0;
#if defined(__AVX2__)
  const __m256i all = _mm256_set1_epi32(int(mask)), lowest = _mm256_set1_epi32(0x0c080400),
                shift = _mm256_setr_epi32(0, bits, 2 * bits, 3 * bits, 0, bits, 2 * bits, 3 * bits);
  for (; i + 64 <= n; i += 8, in += bits) {
    u64 eight;
    __builtin_memcpy(&eight, in, 8);
    const __m256i halves = _mm256_setr_m128i(_mm_set1_epi32(int(u32(eight))), _mm_set1_epi32(int(u32(eight >> (4 * bits)))));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_and_si256(_mm256_srlv_epi32(halves, shift), all), lowest);
    const u64 numbers = u32(_mm256_cvtsi256_si32(bytes)) | u64(u32(_mm256_extract_epi32(bytes, 4))) << 32;
    __builtin_memcpy(out + i, &numbers, 8);
  }
#endif
  for (; i < n; i += 8) {
    u64 eight = 0;
    const size_t count = n - i < 8 ? n - i : 8, bytes = (count * size_t(bits) + 7) / 8;
    for (size_t k = 0; k < bytes; k++) eight |= u64(*in++) << (8 * k);
    for (size_t k = 0; k < count; k++) out[i + k] = u8(u32(eight >> (k * size_t(bits))) & mask);
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

// The planes of a part of the numbers: where each begins (null: there is none), and the lowest bit that it has of a rest. The one of few
// bits is unpacked.
struct PartOfPlanes {
  const u8 *wide = nullptr, *half = nullptr, *byte = nullptr, *few = nullptr;  // of 32, 16, 8 and fewer bits
  int half_at = 0, byte_at = 0, few_at = 0;
  u8 unpacked[rest_part];
};
template <class U>
STZ_INLINE void open_part(const u8* planes, const RestPlanes& p, size_t first, size_t count, PartOfPlanes& part) {
  for_planes<U>(
      p.low + 1 - p.zeros, [&](int at, int bits) __attribute__((always_inline)) {
        const u8* const in = planes + (size_t(at) * p.all + 7) / 8 + first * size_t(bits) / 8;
        if (bits == 32)
          part.wide = in;
        else if (bits == 16)
          part.half = in, part.half_at = at;
        else if (bits == 8)
          part.byte = in, part.byte_at = at;
        else {
          take_bits(in, count, bits, part.unpacked);
          part.few = part.unpacked, part.few_at = at;
        }
      });
}

template <class P>
STZ_INLINE P number_of_plane(const u8* plane, size_t k) {
  P p;
  __builtin_memcpy(&p, plane + k * sizeof(P), sizeof(P));
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
  if constexpr (sizeof(P) == 4) p = P(__builtin_bswap32(u32(p)));
  if constexpr (sizeof(P) == 2) p = P(__builtin_bswap16(u16(p)));
#endif
  return p;
}

// Calls f(k, rest of the k-th number). `kinds`: which planes there are.
template <class U, int kinds, class F>
STZ_INLINE void for_rests_of(const PartOfPlanes& part, size_t count, F f) {
  const u8 *const wide = part.wide, *const half = part.half, *const byte = part.byte, *const few = part.few;
  const int half_at = part.half_at, byte_at = part.byte_at, few_at = part.few_at;
  for (size_t k = 0; k < count; k++) {
    U rest = 0;
    if constexpr (kinds & 8) rest = U(number_of_plane<u32>(wide, k));
    if constexpr (kinds & 4) rest = U(rest | U(U(number_of_plane<u16>(half, k)) << half_at));
    if constexpr (kinds & 2) rest = U(rest | U(U(byte[k]) << byte_at));
    if constexpr (kinds & 1) rest = U(rest | U(U(few[k]) << few_at));
    f(k, rest);
  }
}
template <class U, class F>
STZ_INLINE void for_rests_of_any(const PartOfPlanes& part, size_t count, F f) {
  for (size_t k = 0; k < count; k++) {
    u64 rest = 0;
    if (part.wide) rest = number_of_plane<u32>(part.wide, k);
    if (part.half) rest |= u64(number_of_plane<u16>(part.half, k)) << part.half_at;
    if (part.byte) rest |= u64(part.byte[k]) << part.byte_at;
    if (part.few) rest |= u64(part.few[k]) << part.few_at;
    f(k, U(rest));
  }
}
// Has a loop for each of `kinds`, those that numbers of this width usually have, and one for all others.
template <class U, int... kinds, class F>
STZ_INLINE void for_usual_rests(const PartOfPlanes& part, size_t count, std::integer_sequence<int, kinds...>, F f) {
  const int found = 8 * (part.wide != nullptr) + 4 * (part.half != nullptr) + 2 * (part.byte != nullptr) + (part.few != nullptr);
  if (((found == kinds && (for_rests_of<U, kinds>(part, count, f), true)) || ...)) return;
  for_rests_of_any<U>(part, count, f);
}
template <class U, class F>
STZ_INLINE void for_rests(const PartOfPlanes& part, size_t count, F f) {
  if constexpr (sizeof(U) == 8)
    for_usual_rests<U>(part, count, std::integer_sequence<int, 12, 13>(), f);
  else if constexpr (sizeof(U) == 4)
    for_usual_rests<U>(part, count, std::integer_sequence<int, 4, 5, 6>(), f);
  else if constexpr (sizeof(U) == 2)
    for_usual_rests<U>(part, count, std::integer_sequence<int, 1, 2, 3>(), f);
  else
    for_usual_rests<U>(part, count, std::integer_sequence<int, 1>(), f);
}

template <class U>
void take_rests(const u8* planes, size_t n, const RestPlanes& p, U* rest) {
  for (size_t i = 0; i < n; i += rest_part) {
    const size_t count = n - i < rest_part ? n - i : rest_part;
    PartOfPlanes part;
    open_part<U>(planes, p, p.first + i, count, part);
    U* __restrict out = rest + i;
    for_rests_of_any<U>(part, count, [=](size_t k, U v) __attribute__((always_inline)) { out[k] = v; });
  }
}

template <class U>
STZ_INLINE void look_up(const U* top, const u8* symbol, size_t n, U* out) {
  size_t i = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if constexpr (sizeof(U) == 4)  // two at a time; vectors would be put together element by element
    for (; i + 8 <= n; i += 8) {
      u64 eight;
      __builtin_memcpy(&eight, symbol + i, 8);
      for (size_t k = 0; k < 8; k += 2, eight >>= 16) {
        const u64 two = top[eight & 255] | u64(top[eight >> 8 & 255]) << 32;
        __builtin_memcpy(out + i + k, &two, 8);
      }
    }
#endif
  for (; i < n; i++) out[i] = top[symbol[i]];
}

template <class U>
void join_fields(const u8* planes, const u8* symbol, const U* top, size_t n, const RestPlanes& p, U* x) {
  U tops[rest_part];
  const int low = p.low, zeros = p.zeros;
  const U low_bits = low_bits_of<U>(low);
  for (size_t i = 0; i < n; i += rest_part) {
    const size_t count = n - i < rest_part ? n - i : rest_part;
    PartOfPlanes part;
    open_part<U>(planes, p, p.first + i, count, part);
    look_up(top, symbol + i, count, tops);
    U* __restrict out = x + i;
    const U* __restrict of_part = tops;
    for_rests<U>(
        part, count, [=](size_t k, U rest) __attribute__((always_inline)) {
          const U all = U(rest << zeros);
          out[k] = U(of_part[k] | U(U(all >> low) << sign_place<U>) | (all & low_bits));
        });
  }
}

}  // namespace
}  // namespace stz
