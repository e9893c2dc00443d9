// Interleaved rANS on whole rounds of lanes: the inner loops of code_stream.h. Included by kernels.cpp only. The scalar bodies are the
// reference; the AVX-512 ones do sixteen lanes at a time, those of AVX2 (rans_avx2.h) eight, and take the same words. The encoder's are in
// rans_encode.h.
#pragma once
#include "simd/gather.h"
#include "simd/rans_avx2.h"
#include "simd/rans_encode.h"
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
void rans_decode_rounds(const u32* table, RansStream& s) {
  const u8 *word = s.word, *const end = s.end;
  u8* const out = s.out;
  u32 x[lanes];
  for (u32 k = 0; k < lanes; k++) x[k] = s.state[k];
  size_t i = s.done;
  // as long as every symbol could take a word, no check is needed inside a round
  for (const size_t n = s.n; i + lanes <= n && size_t(end - word) >= 2 * lanes + 2; i += lanes)
    for (u32 k = 0; k < lanes; k++) {
      const u32 d = table[x[k] & 4095];
      out[i + k] = u8(d);
      x[k] = rans_refill<lanes>(((d >> 8) & 4095) * (x[k] >> 12) + (d >> 20), word);
    }
  for (u32 k = 0; k < lanes; k++) s.state[k] = x[k];
  s.word = word;
  s.done = i;
}

#ifdef STZ_512

// The product of numbers of up to 15 and 30 bits, modulo 2^32, from products of 16 bits: these take half as long as those of 32.
inline __attribute__((always_inline)) __m512i product_of_words(__m512i a, __m512i b) {
  const __m512i below = _mm512_madd_epi16(a, _mm512_and_si512(b, _mm512_set1_epi32(0x7fff)));
  return _mm512_add_epi32(below, _mm512_slli_epi32(_mm512_madd_epi16(a, _mm512_srli_epi32(b, 15)), 15));
}

// The streams' next rounds, all of them with words enough.
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

// The same for two to four streams of four lanes each, side by side in one vector.
template <bool gather>
void rans_rounds_of_four_lanes(const u32* table, RansStream* const* streams, size_t count, size_t rounds) {
  RansStream* all[4];
  for (size_t s = 0; s < 4; s++) all[s] = streams[s < count ? s : 0];  // what is not there does as the first one
  auto quarters = [](const void* a, const void* b, const void* c, const void* d) __attribute__((always_inline)) {
    const __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)a), _mm_loadl_epi64((const __m128i*)b));
    const __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)c), _mm_loadl_epi64((const __m128i*)d));
    return _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
  };
  const __m512i mask = _mm512_set1_epi32(4095), one = _mm512_set1_epi32(1);
  // four words of each stream as numbers, last first
  const __m512i backwards = _mm512_set_epi32(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  alignas(64) u32 state[16];
  for (size_t s = 0; s < 4; s++) __builtin_memcpy(state + 4 * s, all[s]->state, 16);
  __m512i x = _mm512_load_si512(state);
  const u8 *word0 = all[0]->word, *word1 = all[1]->word, *word2 = all[2]->word, *word3 = all[3]->word;
  u8* out[4];
  for (size_t s = 0; s < 4; s++) out[s] = all[s]->out + all[s]->done;
  for (size_t i = 0; i < 4 * rounds; i += 4) {
    const __m512i index = _mm512_and_si512(x, mask), d = gather ? gathered(table, index) : look_up(table, index);
    alignas(16) u8 symbols[16];
    _mm_store_si128((__m128i*)symbols, _mm512_cvtepi32_epi8(d));
    for (size_t s = 0; s < 4; s++) __builtin_memcpy(out[s] + i, symbols + 4 * s, 4);
    const __m512i frequency = _mm512_and_si512(_mm512_srli_epi32(d, 8), mask);
    const __m512i y = _mm512_add_epi32(product_of_words(frequency, _mm512_srli_epi32(x, 12)), _mm512_srli_epi32(d, 20));
    // -1 where a word is taken; then less how many the stream's lanes have taken up to there
    const __m512i taken = _mm512_srai_epi32(_mm512_sub_epi32(_mm512_srli_epi32(y, 15), one), 31);
    const __m512i pairs = _mm512_add_epi32(taken, _mm512_bslli_epi128(taken, 4)),
                  sums = _mm512_add_epi32(pairs, _mm512_bslli_epi128(pairs, 8));
    const __m512i words = _mm512_maskz_permutexvar_epi16(0x55555555, backwards, quarters(word0, word1, word2, word3));
    const __m512i of_lanes = (__m512i)_mm512_permutevar_ps((__m512)words, sums);
    const u32 set = _mm512_movepi32_mask(taken);
    word0 += 2 * __builtin_popcount(set & 15);
    word1 += 2 * __builtin_popcount(set & 0xf0);
    word2 += 2 * __builtin_popcount(set & 0xf00);
    word3 += 2 * __builtin_popcount(set & 0xf000);
    x = _mm512_or_si512(_mm512_sllv_epi32(y, _mm512_and_si512(taken, _mm512_set1_epi32(16))), _mm512_and_si512(of_lanes, taken));
  }
  _mm512_store_si512(state, x);
  const u8* const word[4] = {word0, word1, word2, word3};
  for (size_t s = 0; s < count; s++) {
    __builtin_memcpy(all[s]->state, state + 4 * s, 16);
    all[s]->word = word[s];
    all[s]->done += 4 * rounds;
  }
}

template <int lane_count, bool gather>
void rans_decode_512(const u32* table, RansStream* streams, int count) {
  constexpr size_t lanes = lane_count, most = 4;
  constexpr int vectors = lane_count / 16;
  // rounds that can be done without a check
  auto rounds_of = [](const RansStream& s) {
    const size_t left = (s.n - s.done) / lanes, bytes = size_t(s.end - s.word), safe = bytes < 32 ? 0 : (bytes - 32) / (2 * lanes);
    return left < safe ? left : safe;
  };
  RansStream* group[most];
  size_t together = 0;
  for (int next = 0;;) {
    while (together < most && next < count) group[together++] = &streams[next++];
    size_t rounds = ~size_t(0);
    for (size_t s = 0; s < together;) {
      const size_t of_stream = rounds_of(*group[s]);
      if (of_stream)
        s++;
      else
        group[s] = group[--together];
      rounds = of_stream && of_stream < rounds ? of_stream : rounds;
    }
    if (!together && next == count) return;
    if constexpr (lanes == 4) {
      if (together > 1)
        rans_rounds_of_four_lanes<gather>(table, group, together, rounds);
      else if (together)
        rans_decode_rounds<4>(table, *group[0]);
    } else {
      if (together == 4)
        rans_rounds_512<vectors, 4, gather>(table, group, rounds);
      else if (together == 3)
        rans_rounds_512<vectors, 3, gather>(table, group, rounds);
      else if (together == 2)
        rans_rounds_512<vectors, 2, gather>(table, group, rounds);
      else if (together == 1)
        rans_rounds_512<vectors, 1, gather>(table, group, rounds);
    }
  }
}

#endif

template <u32 lanes>
void rans_decode_lanes(const u32* table, RansStream* streams, int count) {
#if defined(STZ_512)
  if constexpr (lanes >= 16 || lanes == 4)
    return gather_is_fast() ? rans_decode_512<lanes, true>(table, streams, count) : rans_decode_512<lanes, false>(table, streams, count);
#elif defined(__AVX2__)
  if constexpr (lanes >= 16) {
    for (int s = 0; s < count; s++) rans_decode_256<lanes / 8>(table, streams[s]);
    return;
  }
#endif
  for (int s = 0; s < count; s++) rans_decode_rounds<lanes>(table, streams[s]);
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
