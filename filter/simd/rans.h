// Interleaved rANS on whole rounds of lanes: the inner loops of code_stream.h. Included by kernels.cpp only. The scalar bodies are the
// reference. AVX-512 handles sixteen lanes at a time, AVX2 (rans_avx2.h) eight; all use the same words. The encoder is in rans_encode.h.
#pragma once
#include "simd/gather.h"
#include "simd/rans_avx2.h"
#include "simd/rans_encode.h"
#include "simd/vectors.h"

namespace stz {
namespace {

inline u16 load_word(const u8* p) { return u16(p[0] | p[1] << 8); }
inline u64 load_four_words(const u8* p) {
  u64 v;
  __builtin_memcpy(&v, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
  v = __builtin_bswap64(v);
#endif
  return v;
}

// Whether a word is read is hard to predict. With a single lane a branch is still fastest, because each step depends on the previous one.
STZ_INLINE u32 rans_refill_single(u32 x, const u8*& word) {
  const u32 refilled = x << 16 | load_word(word);
  const bool refill = x < rans_low;
  word += refill ? 2 : 0;
  return refill ? refilled : x;
}
// With more lanes this computes without branches, on the lowest of some preloaded words. The empty statement keeps the compiler from using
// branches or slow vectors. Returns whether a word was used.
STZ_INLINE u32 rans_refill(u32& x, u64& words) {
  u32 refill = x < rans_low;
  __asm__("" : "+r"(refill), "+r"(x));
  const u32 bits = 16 * refill;
#if defined(__BMI2__)
  x = x << bits | (u32(words) & ((1u << bits) - 1));  // one instruction
#else
  x = x << bits | (u32(words) & 0xffff & (0 - refill));
#endif
  words >>= bits;
  return refill;
}

// Decodes the streams' next rounds; all streams have enough words for them.
template <u32 lanes, int count>
void rans_scalar_rounds(const u32* table, RansStream* const* streams, size_t rounds) {
  constexpr u32 at_once = lanes == 4 ? 4 : 1;  // lanes that share a load of words
  // States are copied to a local array, because the compiler must assume that stores to `out` change the caller's. A few states use 64 bits
  // each: the compiler would pack two of 32 bits into one register.
  std::conditional_t<count * lanes <= 8, u64, u32> state[count][lanes];
  const u8* word[count];
  u8* out[count];
  for (int s = 0; s < count; s++) {
    for (u32 k = 0; k < lanes; k++) state[s][k] = streams[s]->state[k];
    word[s] = streams[s]->word;
    out[s] = streams[s]->out + streams[s]->done;
  }
  for (size_t i = 0; i < rounds * lanes; i += lanes)
    for (u32 first = 0; first < lanes; first += at_once)
      for (int s = 0; s < count; s++) {
        u64 words = at_once > 1 ? load_four_words(word[s]) : load_word(word[s]);
        u32 taken = 0;
        for (u32 k = first; k < first + at_once; k++) {
          u32 x = u32(state[s][k]);
          const u32 d = table[x & 4095];
          out[s][i + k] = u8(d);
          x = ((d >> 8) & 4095) * (x >> 12) + (d >> 20);
          if (lanes == 1 && count == 1)
            x = rans_refill_single(x, word[s]);
          else
            taken += rans_refill(x, words);
          state[s][k] = x;
        }
        word[s] += 2 * taken;
        __asm__("" : "+r"(word[s]));  // prevents a vector of pointers
      }
  for (int s = 0; s < count; s++) {
    for (u32 k = 0; k < lanes; k++) streams[s]->state[k] = u32(state[s][k]);
    streams[s]->word = word[s];
    streams[s]->done += lanes * rounds;
  }
}

// Walks through streams, up to `most` at a time. Calls decode(streams, their count, rounds that need no check in any of them).
template <u32 lanes, int most = 4, class Decode>
STZ_INLINE void rans_decode_side_by_side(RansStream* streams, int count, Decode decode) {
  auto rounds_of = [](const RansStream& s) {
    const size_t left = (s.n - s.done) / lanes, safe = size_t(s.end - s.word) / (2 * lanes);
    return left < safe ? left : safe;
  };
  RansStream* group[most];
  int together = 0;
  for (int next = 0;;) {
    while (together < most && next < count) group[together++] = &streams[next++];
    size_t rounds = ~size_t(0);
    for (int s = 0; s < together;) {
      const size_t of_stream = rounds_of(*group[s]);
      if (of_stream)
        s++;
      else
        group[s] = group[--together];
      rounds = of_stream && of_stream < rounds ? of_stream : rounds;
    }
    if (together)
      decode(group, together, rounds);
    else if (next == count)
      return;
  }
}

// Calls f with the number of streams, up to four, as a constant.
template <class F>
STZ_INLINE void with_count(int count, F f) {
  if (count == 4)
    f(std::integral_constant<int, 4>{});
  else if (count == 3)
    f(std::integral_constant<int, 3>{});
  else if (count == 2)
    f(std::integral_constant<int, 2>{});
  else
    f(std::integral_constant<int, 1>{});
}

#ifdef STZ_512

// The product of numbers of up to 15 and 30 bits, modulo 2^32, from 16-bit products, which take half the time of 32-bit ones.
inline __attribute__((always_inline)) __m512i product_of_words(__m512i a, __m512i b) {
  const __m512i below = _mm512_madd_epi16(a, _mm512_and_si512(b, _mm512_set1_epi32(0x7fff)));
  return _mm512_add_epi32(below, _mm512_slli_epi32(_mm512_madd_epi16(a, _mm512_srli_epi32(b, 15)), 15));
}

// Decodes the streams' next rounds; all streams have enough words for them.
template <int vectors, int count, bool gather>
void rans_rounds_512(const u32* table, RansStream* const* streams, size_t rounds) {
  const __m512i mask = _mm512_set1_epi32(4095), low = _mm512_set1_epi32(rans_low);
  __m512i x[count][vectors];
  const u8* word[count];
  u8* out[count];
  for (int s = 0; s < count; s++) {
    for (int v = 0; v < vectors; v++) x[s][v] = _mm512_loadu_si512(streams[s]->state + 16 * v);
    word[s] = streams[s]->word;
    out[s] = streams[s]->out + streams[s]->done;
  }
  for (size_t i = 0; i < 16 * vectors * rounds; i += 16 * vectors)
    for (int v = 0; v < vectors; v++)
      for (int s = 0; s < count; s++) {
        const __m512i index = _mm512_and_si512(x[s][v], mask), d = gather ? gathered(table, index) : look_up(table, index);
        _mm_storeu_si128((__m128i*)(out[s] + i + 16 * size_t(v)), _mm512_cvtepi32_epi8(d));
        const __m512i frequency = _mm512_and_si512(_mm512_srli_epi32(d, 8), mask);
        const __m512i y = _mm512_add_epi32(product_of_words(frequency, _mm512_srli_epi32(x[s][v], 12)), _mm512_srli_epi32(d, 20));
        const __mmask16 refill = _mm512_cmplt_epu32_mask(y, low);
        const __m512i words = _mm512_maskz_expand_epi32(refill, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)word[s])));
        x[s][v] = _mm512_mask_or_epi32(y, refill, _mm512_slli_epi32(y, 16), words);
        word[s] += 2 * __builtin_popcount(refill);
      }
  for (int s = 0; s < count; s++) {
    for (int v = 0; v < vectors; v++) _mm512_storeu_si512(streams[s]->state + 16 * v, x[s][v]);
    streams[s]->word = word[s];
    streams[s]->done += 16 * vectors * rounds;
  }
}

// The same for streams of four lanes: up to four streams per vector.
template <int vectors, bool gather>
void rans_rounds_of_four_lanes(const u32* table, RansStream* const* streams, int count, size_t rounds) {
  constexpr int places = 4 * vectors;
  RansStream* all[places];
  for (int s = 0; s < places; s++) all[s] = streams[s < count ? s : 0];  // unused places repeat the first stream
  auto quarters = [](const u8* const* p) __attribute__((always_inline)) {
    auto four_words = [](const u8* at) __attribute__((always_inline)) { return _mm_loadl_epi64((const __m128i*)at); };
    const __m128i low = _mm_unpacklo_epi64(four_words(p[0]), four_words(p[1]));
    const __m128i high = _mm_unpacklo_epi64(four_words(p[2]), four_words(p[3]));
    return _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
  };
  const __m512i mask = _mm512_set1_epi32(4095), one = _mm512_set1_epi32(1);
  // Converts four words of each stream to numbers, last first.
  const __m512i backwards = _mm512_set_epi32(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  alignas(64) u32 state[vectors][16];
  const u8* word[places];
  u8* out[places];
  for (int s = 0; s < places; s++) {
    __builtin_memcpy(state[s / 4] + s % 4 * 4, all[s]->state, 16);
    word[s] = all[s]->word;
    out[s] = all[s]->out + all[s]->done;
  }
  __m512i x[vectors];
  for (int v = 0; v < vectors; v++) x[v] = _mm512_load_si512(state[v]);
  for (size_t i = 0; i < 4 * rounds; i += 4)
    for (int v = 0; v < vectors; v++) {
      const __m512i index = _mm512_and_si512(x[v], mask), d = gather ? gathered(table, index) : look_up(table, index);
      alignas(16) u8 symbols[16];
      _mm_store_si128((__m128i*)symbols, _mm512_cvtepi32_epi8(d));
      for (int s = 0; s < 4; s++) __builtin_memcpy(out[4 * v + s] + i, symbols + 4 * s, 4);
      const __m512i frequency = _mm512_and_si512(_mm512_srli_epi32(d, 8), mask);
      const __m512i y = _mm512_add_epi32(product_of_words(frequency, _mm512_srli_epi32(x[v], 12)), _mm512_srli_epi32(d, 20));
      // taken: -1 in lanes that read a word. sums: minus the number of words read by the stream's lanes up to this one.
      const __m512i taken = _mm512_srai_epi32(_mm512_sub_epi32(_mm512_srli_epi32(y, 15), one), 31);
      const __m512i pairs = _mm512_add_epi32(taken, _mm512_bslli_epi128(taken, 4)),
                    sums = _mm512_add_epi32(pairs, _mm512_bslli_epi128(pairs, 8));
      const __m512i words = _mm512_maskz_permutexvar_epi16(0x55555555, backwards, quarters(word + 4 * v));
      const __m512i of_lanes = (__m512i)_mm512_permutevar_ps((__m512)words, sums);
      const u32 set = _mm512_movepi32_mask(taken);
      for (int s = 0; s < 4; s++) {
        word[4 * v + s] += 2 * __builtin_popcount(set & 15u << 4 * s);
        __asm__("" : "+r"(word[4 * v + s]));  // prevents a vector of pointers
      }
      x[v] = _mm512_or_si512(_mm512_sllv_epi32(y, _mm512_and_si512(taken, _mm512_set1_epi32(16))), _mm512_and_si512(of_lanes, taken));
    }
  for (int v = 0; v < vectors; v++) _mm512_store_si512(state[v], x[v]);
  for (int s = 0; s < count; s++) {
    __builtin_memcpy(all[s]->state, state[s / 4] + s % 4 * 4, 16);
    all[s]->word = word[s];
    all[s]->done += 4 * rounds;
  }
}

template <u32 lanes, bool gather>
void rans_decode_512(const u32* table, RansStream* streams, int count) {
  rans_decode_side_by_side<lanes, lanes == 4 ? 8 : 4>(streams, count, [=](RansStream* const* group, int together, size_t rounds) {
    if constexpr (lanes >= 16)
      with_count(together, [=](auto fixed) { rans_rounds_512<lanes / 16, fixed.value, gather>(table, group, rounds); });
    else if (together > 4)
      rans_rounds_of_four_lanes<2, gather>(table, group, together, rounds);
    else if (together > 2)
      rans_rounds_of_four_lanes<1, gather>(table, group, together, rounds);
    else
      with_count(together, [=](auto fixed) { rans_scalar_rounds<lanes, fixed.value>(table, group, rounds); });
  });
}

#endif

template <u32 lanes>
void rans_decode_lanes(const u32* table, RansStream* streams, int count) {
#if defined(STZ_512)
  if constexpr (lanes >= 16 || lanes == 4)
    return gather_is_fast() ? rans_decode_512<lanes, true>(table, streams, count) : rans_decode_512<lanes, false>(table, streams, count);
#elif defined(__AVX2__)
  if constexpr (lanes >= 16)
    return rans_decode_side_by_side<lanes>(streams, count, [=](RansStream* const* group, int together, size_t rounds) {
      with_count(together, [=](auto fixed) { rans_rounds_256<lanes / 8, fixed.value>(table, group, rounds); });
    });
#endif
  rans_decode_side_by_side<lanes>(streams, count, [=](RansStream* const* group, int together, size_t rounds) {
    if constexpr (lanes <= 4)
      with_count(together, [=](auto fixed) { rans_scalar_rounds<lanes, fixed.value>(table, group, rounds); });
    else
      for (int s = 0; s < together; s++) rans_scalar_rounds<lanes, 1>(table, group + s, rounds);
  });
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

void rans_decode(const u32* table, u32 lanes, RansStream* streams, int count) {
  for (int s = 0; s < count; s++) streams[s].done = 0;
  with_lanes(lanes, [&](auto fixed) { rans_decode_lanes<fixed.value>(table, streams, count); });
}

void rans_encode(u32 lanes, RansOutput* streams, int count) {
  with_lanes(lanes, [&](auto fixed) { rans_encode_lanes<fixed.value>(streams, count); });
}

}  // namespace
}  // namespace stz
