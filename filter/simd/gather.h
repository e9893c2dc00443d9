// Looks up sixteen numbers in a table; decides whether the gather instruction is worth using. Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

#ifdef STZ_512
namespace stz {
namespace {

// Sixteen plain loads.
inline __attribute__((always_inline)) __m512i look_up(const u32* table, __m512i index) {
  alignas(64) u64 pair[8];
  _mm512_store_si512(pair, index);
  auto two = [&](int k) __attribute__((always_inline)) {
    return _mm_unpacklo_epi32(_mm_cvtsi32_si128(int(table[u32(pair[k])])), _mm_cvtsi32_si128(int(table[pair[k] >> 32])));
  };
  auto four = [&](int k) __attribute__((always_inline)) { return _mm_unpacklo_epi64(two(k), two(k + 1)); };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(2), 1),
                high = _mm256_inserti128_si256(_mm256_castsi128_si256(four(4)), four(6), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Gathers into zeros, because the instruction waits for its previous destination. The empty statement hides from the compiler that all
// lanes are replaced.
inline __attribute__((always_inline)) __m512i gathered(const u32* table, __m512i index) {
  __mmask16 all = 0xffff;
  __asm__("" : "+Yk"(all));
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), all, index, table, 4);
}

// Cycles of independent lookups in a small table; the minimum of a few attempts.
template <class F>
u64 cycles_of(F f) {
  alignas(64) u32 table[64];
  for (u32 k = 0; k < 64; k++) table[k] = 29 * k + 7;
  u64 fewest = ~u64(0);
  for (int attempt = 0; attempt < 5; attempt++) {
    __m512i x[4];
    for (int v = 0; v < 4; v++) x[v] = _mm512_add_epi32(_mm512_loadu_si512(table), _mm512_set1_epi32(v));
    const u64 start = __builtin_ia32_rdtsc();
    for (int step = 0; step < 8; step++)
      for (auto& v : x) v = f(table, _mm512_and_si512(v, _mm512_set1_epi32(63)));
    for (auto& v : x) __asm__ volatile("" ::"v"(v));
    const u64 cycles = __builtin_ia32_rdtsc() - start;
    fewest = cycles < fewest ? cycles : fewest;
  }
  return fewest;
}

// The gather instruction takes half the time of plain loads on some processors, and several times as much where it is slow or a microcode
// update mitigates it. Only a measurement tells. Both give the same result.
inline bool gather_is_fast() {
  static int known;  // 0: not yet; 1: no; 2: yes
  int fast = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!fast) {
    const u64 loads = cycles_of([](const u32* t, __m512i i) __attribute__((always_inline)) { return look_up(t, i); });
    const u64 gathers = cycles_of([](const u32* t, __m512i i) __attribute__((always_inline)) { return gathered(t, i); });
    fast = gathers < loads ? 2 : 1;
    __atomic_store_n(&known, fast, __ATOMIC_RELAXED);
  }
  return fast == 2;
}

}  // namespace
}  // namespace stz
#endif
