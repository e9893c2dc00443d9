// CRC-32C by the processor's instruction, which has a latency of three cycles and a throughput of one. So long inputs are processed as
// three runs at once. Their registers are combined by the effect of zero bytes on a register, which is linear.
// With carry-less products of vectors, long inputs are folded: 128 bits followed by D bits are replaced by a remainder that is added to
// these D bits; it is the sum of two products of their halves with powers of x (Gopal et al., "Fast CRC computation for generic polynomials
// using PCLMULQDQ", Intel 2009).
// Included by kernels.cpp only.
#pragma once
#include "simd/kernels.h"

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace stz {
namespace {

#if defined(__SSE4_2__) || defined(__ARM_FEATURE_CRC32)
#if defined(__SSE4_2__)
inline u64 crc32c_of_8(u64 crc, u64 v) { return __builtin_ia32_crc32di(crc, v); }
inline u64 crc32c_of_1(u64 crc, u8 v) { return __builtin_ia32_crc32qi(u32(crc), v); }
#else
inline u64 crc32c_of_8(u64 crc, u64 v) { return __crc32cd(u32(crc), v); }
inline u64 crc32c_of_1(u64 crc, u8 v) { return __crc32cb(u32(crc), v); }
#endif

constexpr size_t crc_run = 512;            // bytes of each of the three runs; a power of two
constexpr size_t crc_ahead = 5 * crc_run;  // how far memory is asked for before it is read, at least the three runs

// The effect of crc_run zero bytes on a register: the xor of one table entry per byte of the register.
struct CrcOfZeros {
  u32 of_byte[4][256];
  constexpr CrcOfZeros() : of_byte() {
    u32 of_bit[32] = {};  // first the effect of one zero bit: bit 0 becomes the polynomial, the others move down
    for (int b = 0; b < 32; b++) of_bit[b] = b ? u32(1) << (b - 1) : 0x82F63B78u;
    for (size_t bits = 1; bits < 8 * crc_run; bits *= 2) {
      u32 twice[32] = {};
      for (int b = 0; b < 32; b++) twice[b] = times(of_bit, of_bit[b]);
      for (int b = 0; b < 32; b++) of_bit[b] = twice[b];
    }
    for (int k = 0; k < 4; k++)
      for (u32 v = 0; v < 256; v++) of_byte[k][v] = times(of_bit, v << (8 * k));
  }
  constexpr u32 operator()(u32 crc) const {
    return of_byte[0][crc & 255] ^ of_byte[1][crc >> 8 & 255] ^ of_byte[2][crc >> 16 & 255] ^ of_byte[3][crc >> 24];
  }

 private:
  static constexpr u32 times(const u32* of_bit, u32 v) {
    u32 sum = 0;
    for (int b = 0; b < 32; b++)
      if (v >> b & 1) sum ^= of_bit[b];
    return sum;
  }
};
constexpr CrcOfZeros crc_of_zeros;

inline u64 crc_word(const u8* p) {
  u64 v;
  __builtin_memcpy(&v, p, 8);
  return v;
}

#if defined(STZ_512) && defined(__VPCLMULQDQ__)
// x^n modulo the polynomial, bit-reversed, in the upper half of 64 bits.
constexpr long long power_of_x(int n) {
  u32 v = 0x80000000u;
  for (; n > 0; n--) v = (v >> 1) ^ (v & 1 ? 0x82F63B78u : 0);
  return static_cast<long long>(u64(v) << 32);
}

// Folds each 128 bits of `v` to a remainder to add to the 128 bits `distance` bits later. Products of bit-reversed numbers have an extra
// factor of x.
template <int distance>
inline __m512i folded(__m512i v) {
  constexpr long long low = power_of_x(distance + 63), high = power_of_x(distance - 1);
  const __m512i factors = _mm512_set_epi64(high, low, high, low, high, low, high, low);
  return _mm512_xor_si512(_mm512_clmulepi64_epi128(v, factors, 0x00), _mm512_clmulepi64_epi128(v, factors, 0x11));
}

// Folds whole vectors, at least 256 bytes, into 64 bytes that give the same CRC when started from a register of 0. Returns the number of
// folded bytes.
inline size_t fold_crc32c(u32 crc, const u8* p, size_t n, u8* last) {
  auto load = [&](size_t at) { return _mm512_loadu_si512(p + at); };
  __m512i a = _mm512_xor_si512(load(0), _mm512_zextsi128_si512(_mm_cvtsi32_si128(int(crc)))), b = load(64), c = load(128), d = load(192);
  size_t at = 256;
  for (; at + 256 <= n; at += 256) {
    a = _mm512_xor_si512(folded<2048>(a), load(at));
    b = _mm512_xor_si512(folded<2048>(b), load(at + 64));
    c = _mm512_xor_si512(folded<2048>(c), load(at + 128));
    d = _mm512_xor_si512(folded<2048>(d), load(at + 192));
  }
  b = _mm512_xor_si512(folded<512>(a), b);
  c = _mm512_xor_si512(folded<512>(b), c);
  d = _mm512_xor_si512(folded<512>(c), d);
  for (; at + 64 <= n; at += 64) d = _mm512_xor_si512(folded<512>(d), load(at));
  _mm512_storeu_si512(last, d);
  return at;
}
#endif

// Takes and returns the bit-inverted register.
u32 crc32c(u32 crc, const u8* p, size_t n) {
#if defined(STZ_512) && defined(__VPCLMULQDQ__)
  if (n >= 512) {
    u8 last[64];
    const size_t done = fold_crc32c(crc, p, n, last);
    u64 folded_crc = 0;
    for (size_t i = 0; i < sizeof last; i += 8) folded_crc = crc32c_of_8(folded_crc, crc_word(last + i));
    crc = u32(folded_crc);
    p += done;
    n -= done;
  }
#endif
  for (; n >= 3 * crc_run; n -= 3 * crc_run, p += 3 * crc_run) {
    u64 a = crc, b = 0, c = 0;
    for (size_t i = 0; i < crc_run; i += 8) {
      if (i % 64 == 0)  // three runs at once are no sequence that processors would recognise
        for (size_t k = 0; k < 3; k++) __builtin_prefetch(p + crc_ahead + 3 * i + 64 * k);
      a = crc32c_of_8(a, crc_word(p + i));
      b = crc32c_of_8(b, crc_word(p + crc_run + i));
      c = crc32c_of_8(c, crc_word(p + 2 * crc_run + i));
    }
    crc = crc_of_zeros(crc_of_zeros(u32(a)) ^ u32(b)) ^ u32(c);
  }
  u64 c = crc;
  for (; n >= 8; n -= 8, p += 8) c = crc32c_of_8(c, crc_word(p));
  for (; n; n--, p++) c = crc32c_of_1(c, *p);
  return u32(c);
}
constexpr auto crc_kernel = crc32c;
#else  // tables are used instead (coding/checksum.cpp)
constexpr u32 (*crc_kernel)(u32, const u8*, size_t) = nullptr;
#endif

}  // namespace
}  // namespace stz
