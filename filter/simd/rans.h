// Interleaved rANS on whole rounds of lanes: the inner loops of code_stream.h. Included by kernels.cpp only. The scalar bodies are the
// reference; the AVX-512 ones do sixteen lanes at a time, those of AVX2 (rans_avx2.h) eight, and write the same words.
#pragma once
#include "simd/rans_avx2.h"
#include "simd/vectors.h"

namespace stz {
namespace {

inline u16 load_word(const u8* p) { return u16(p[0] | p[1] << 8); }

// Whether a word is taken or put is hard to predict. A single lane still does best to guess, for each step waits for the one before; more
// lanes compute instead, and the empty statement keeps the compiler from turning that into branches or into slow vectors.
template <u32 lanes>
STZ_INLINE u32 rans_refill(u32 x, const u8*& word) {
  if constexpr (lanes == 1) {
    const u32 refilled = x << 16 | load_word(word);
    const bool refill = x < rans_low;
    word += refill ? 2 : 0;
    return refill ? refilled : x;
  } else {
    u32 refill = x < rans_low;
    __asm__("" : "+r"(refill), "+r"(x));
    x = x << 16 * refill | (load_word(word) & (0 - refill));
    word += 2 * refill;
    return x;
  }
}

// States are kept in an array of their own: as far as the compiler knows, stores to `out` could change those of the caller.
template <u32 lanes>
size_t rans_decode_scalar(const u32* table, u32* state, u8* out, size_t n, const u8** position, const u8* end) {
  const u8* word = *position;
  u32 x[lanes];
  for (u32 k = 0; k < lanes; k++) x[k] = state[k];
  size_t i = 0;
  // as long as every symbol could take a word, no check is needed inside a round
  for (; i + lanes <= n && size_t(end - word) >= 2 * lanes + 2; i += lanes)
    for (u32 k = 0; k < lanes; k++) {
      const u32 d = table[x[k] & 4095];
      out[i + k] = u8(d);
      x[k] = rans_refill<lanes>(((d >> 8) & 4095) * (x[k] >> 12) + (d >> 20), word);
    }
  for (u32 k = 0; k < lanes; k++) state[k] = x[k];
  *position = word;
  return i;
}

template <u32 lanes>
STZ_INLINE u32 rans_put(u32 x, u32 reciprocal, u32 step, u16*& word) {
  const u32 freq = step & 4095;
  if constexpr (lanes == 1) {
    const bool full = x >= freq << 19;
    if (full) *--word = u16(x);
    x = full ? x >> 16 : x;
  } else {
    u32 full = x >= freq << 19;
    __asm__("" : "+r"(full), "+r"(x));
    word[-1] = u16(x);
    word -= full;
    x >>= 16 * full;
  }
  return x + (step >> 12 & 0xffff) + (u32((u64(x) * reciprocal) >> 32) >> (step >> 28)) * (4096 - freq);
}

// n is a multiple of the lanes.
template <u32 lanes>
void rans_encode_scalar(const u32* reciprocal, const u32* step, u32* state, const u8* symbols, size_t n, u16** position) {
  u16* word = *position;
  u32 x[lanes];
  for (u32 k = 0; k < lanes; k++) x[k] = state[k];
  for (size_t i = n; i > 0;) {
    i -= lanes;
    for (u32 k = lanes; k-- > 0;) x[k] = rans_put<lanes>(x[k], reciprocal[symbols[i + k]], step[symbols[i + k]], word);
  }
  for (u32 k = 0; k < lanes; k++) state[k] = x[k];
  *position = word;
}

#ifdef STZ_512

// Sixteen plain loads: the gather instruction is slow on processors whose microcode guards it.
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

template <int vectors>
size_t rans_decode_512(const u32* table, u32* state, u8* out, size_t n, const u8** position, const u8* end) {
  constexpr u32 lanes = 16 * vectors;
  const u8* word = *position;
  const __m512i mask = _mm512_set1_epi32(4095), low = _mm512_set1_epi32(rans_low);
  __m512i x[vectors];
  for (int v = 0; v < vectors; v++) x[v] = _mm512_loadu_si512(state + 16 * v);
  size_t i = 0;
  for (; i + lanes <= n && size_t(end - word) >= 2 * lanes + 32; i += lanes)
    for (int v = 0; v < vectors; v++) {
      __m512i d = look_up(table, _mm512_and_si512(x[v], mask));
      _mm_storeu_si128((__m128i*)(out + i + 16 * size_t(v)), _mm512_cvtepi32_epi8(d));
      __m512i y = _mm512_add_epi32(_mm512_mullo_epi32(_mm512_and_si512(_mm512_srli_epi32(d, 8), mask), _mm512_srli_epi32(x[v], 12)),
                                   _mm512_srli_epi32(d, 20));
      __mmask16 refill = _mm512_cmplt_epu32_mask(y, low);
      __m512i words = _mm512_maskz_expand_epi32(refill, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)word)));
      x[v] = _mm512_mask_or_epi32(y, refill, _mm512_slli_epi32(y, 16), words);
      word += 2 * __builtin_popcount(refill);
    }
  for (int v = 0; v < vectors; v++) _mm512_storeu_si512(state + 16 * v, x[v]);
  *position = word;
  return i;
}

// A table of 64 entries in four registers.
struct Table64 {
  __m512i part[4];
  explicit Table64(const u32* t) {
    for (int k = 0; k < 4; k++) part[k] = _mm512_loadu_si512(t + 16 * k);
  }
  __attribute__((always_inline)) __m512i operator()(__m512i s) const {
    __m512i a = _mm512_permutex2var_epi32(part[0], s, part[1]), b = _mm512_permutex2var_epi32(part[2], s, part[3]);
    return _mm512_mask_mov_epi32(a, _mm512_cmpgt_epu32_mask(s, _mm512_set1_epi32(31)), b);
  }
};

template <int vectors>
void rans_encode_512(const u32* reciprocals, const u32* steps, u32* state, const u8* symbols, size_t n, u16** position) {
  const Table64 reciprocal_of(reciprocals), step_of(steps);
  u16* word = *position;
  __m512i x[vectors];
  for (int v = 0; v < vectors; v++) x[v] = _mm512_loadu_si512(state + 16 * v);
  for (size_t i = n; i > 0;) {
    i -= 16 * vectors;
    for (int v = vectors - 1; v >= 0; v--) {
      __m512i s = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)(symbols + i + 16 * size_t(v))));
      __m512i r = reciprocal_of(s), e = step_of(s), freq = _mm512_and_si512(e, _mm512_set1_epi32(4095));
      __mmask16 full = _mm512_cmpge_epu32_mask(x[v], _mm512_slli_epi32(freq, 19));
      // the words of the full lanes, in lane order, below those written before: moved to the end of a vector, the rest is overwritten later
      const int count = __builtin_popcount(full);
      const __m256i words = _mm256_maskz_compress_epi16(full, _mm512_cvtepi32_epi16(x[v]));
      const __m256i number = _mm256_set_epi16(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      _mm256_storeu_si256((__m256i*)(word - 16),
                          _mm256_permutexvar_epi16(_mm256_add_epi16(number, _mm256_set1_epi16(short(count))), words));
      word -= count;
      __m512i y = _mm512_mask_srli_epi32(x[v], full, x[v], 16);
      __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(y, r), 32),
              odd = _mm512_mul_epu32(_mm512_srli_epi64(y, 32), _mm512_srli_epi64(r, 32));
      __m512i quotient = _mm512_srlv_epi32(_mm512_mask_blend_epi32(0xAAAA, even, odd), _mm512_srli_epi32(e, 28));
      __m512i bias = _mm512_and_si512(_mm512_srli_epi32(e, 12), _mm512_set1_epi32(0xffff));
      x[v] = _mm512_add_epi32(_mm512_add_epi32(y, bias), _mm512_mullo_epi32(quotient, _mm512_sub_epi32(_mm512_set1_epi32(4096), freq)));
    }
  }
  for (int v = 0; v < vectors; v++) _mm512_storeu_si512(state + 16 * v, x[v]);
  *position = word;
}

#endif

template <u32 lanes>
size_t rans_decode_lanes(const u32* table, u32* state, u8* out, size_t n, const u8** position, const u8* end) {
#if defined(STZ_512)
  if constexpr (lanes >= 16) return rans_decode_512<lanes / 16>(table, state, out, n, position, end);
#elif defined(__AVX2__)
  if constexpr (lanes >= 16) return rans_decode_256<lanes / 8>(table, state, out, n, position, end);
#endif
  return rans_decode_scalar<lanes>(table, state, out, n, position, end);
}

template <u32 lanes>
void rans_encode_lanes(const u32* reciprocal, const u32* step, u32* state, const u8* symbols, size_t n, u16** position) {
  const size_t rounds = n / lanes * lanes;
  u16* word = *position;
  for (size_t j = n; j-- > rounds;) state[j - rounds] = rans_put<1>(state[j - rounds], reciprocal[symbols[j]], step[symbols[j]], word);
  *position = word;
#if defined(STZ_512)
  if constexpr (lanes >= 16) return rans_encode_512<lanes / 16>(reciprocal, step, state, symbols, rounds, position);
#elif defined(__AVX2__)
  if constexpr (lanes >= 16) return rans_encode_256<lanes / 8>(reciprocal, step, state, symbols, rounds, position);
#endif
  rans_encode_scalar<lanes>(reciprocal, step, state, symbols, rounds, position);
}

// Calls f with the number of lanes as a constant.
template <class F>
STZ_INLINE auto with_lanes(u32 lanes, F f) {
  switch (lanes) {
    case 1:
      return f(std::integral_constant<u32, 1>{});
    case 2:
      return f(std::integral_constant<u32, 2>{});
    case 4:
      return f(std::integral_constant<u32, 4>{});
    case 8:
      return f(std::integral_constant<u32, 8>{});
    case 16:
      return f(std::integral_constant<u32, 16>{});
    case 32:
      return f(std::integral_constant<u32, 32>{});
    default:
      return f(std::integral_constant<u32, 64>{});
  }
}

size_t rans_decode(const u32* table, u32* state, u32 lanes, u8* out, size_t n, const u8** position, const u8* end) {
  return with_lanes(lanes, [&](auto fixed) { return rans_decode_lanes<fixed.value>(table, state, out, n, position, end); });
}

void rans_encode(const u32* reciprocal, const u32* step, u32* state, u32 lanes, const u8* symbols, size_t n, u16** position) {
  with_lanes(lanes, [&](auto fixed) { rans_encode_lanes<fixed.value>(reciprocal, step, state, symbols, n, position); });
}

}  // namespace
}  // namespace stz
