// Interleaved rANS with AVX2: eight lanes per vector, several vectors at once. Included by rans.h only. Reads and writes the same words as
// the scalar bodies there.
#pragma once
#include "simd/vectors.h"

#if defined(__AVX2__) && !defined(STZ_512)
namespace stz {
namespace {

// Byte shuffles of eight 16-bit words for each subset of lanes.
struct alignas(16) WordShuffles {
  u8 spread[256][16];  // moves the first words to the lanes of the subset, in order; others become 0
  u8 pack[256][16];    // moves the words of the subset to the front, last lane first
};
constexpr WordShuffles make_word_shuffles() {
  WordShuffles t{};
  for (int set = 0; set < 256; set++) {
    int taken = 0, packed = 0;
    for (int lane = 0; lane < 8; lane++) {
      const bool in = set >> lane & 1;
      for (int b = 0; b < 2; b++) t.spread[set][2 * lane + b] = u8(in ? 2 * taken + b : 0x80);
      taken += in;
    }
    for (int lane = 7; lane >= 0; lane--)
      if (set >> lane & 1) {
        for (int b = 0; b < 2; b++) t.pack[set][2 * packed + b] = u8(2 * lane + b);
        packed++;
      }
  }
  return t;
}
constexpr WordShuffles word_shuffles = make_word_shuffles();

// Plain loads: the gather instruction is slow on processors with a microcode mitigation.
STZ_INLINE __m256i look_up(const u32* table, __m256i index) {
  auto four = [&](__m128i i) __attribute__((always_inline)) {
    const u64 a = u64(_mm_cvtsi128_si64(i)), b = u64(_mm_extract_epi64(i, 1));
    __m128i v = _mm_cvtsi32_si128(int(table[u32(a)]));
    v = _mm_insert_epi32(v, int(table[a >> 32]), 1);
    v = _mm_insert_epi32(v, int(table[u32(b)]), 2);
    return _mm_insert_epi32(v, int(table[b >> 32]), 3);
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(four(_mm256_castsi256_si128(index))), four(_mm256_extracti128_si256(index, 1)), 1);
}

// Decodes the streams' next rounds; all streams have enough words for them.
template <int vectors, int count>
void rans_rounds_256(const u32* table, RansStream* const* streams, size_t rounds) {
  constexpr u32 lanes = 8 * vectors;
  const __m256i mask = _mm256_set1_epi32(4095), zero = _mm256_setzero_si256();
  // Select the lowest bytes of the lanes of two vectors, into the lower or the upper half of eight bytes.
  const __m256i low_half = _mm256_set1_epi64x(i64(0x808080800c080400)), high_half = _mm256_set1_epi64x(i64(0x0c08040080808080));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 0, 0, 0);
  __m256i x[count][vectors];
  const u8* word[count];
  u8* out[count];
  for (int s = 0; s < count; s++) {
    for (int v = 0; v < vectors; v++) x[s][v] = _mm256_loadu_si256((const __m256i*)(streams[s]->state + 8 * v));
    word[s] = streams[s]->word;
    out[s] = streams[s]->out + streams[s]->done;
  }
  for (size_t i = 0; i < lanes * rounds; i += lanes)
    for (int v = 0; v < vectors; v += 2)
      for (int s = 0; s < count; s++) {
        __m256i d[2];
        for (int h = 0; h < 2; h++) {
          __m256i& state = x[s][v + h];
          d[h] = look_up(table, _mm256_and_si256(state, mask));
          const __m256i y =
              _mm256_add_epi32(_mm256_mullo_epi32(_mm256_and_si256(_mm256_srli_epi32(d[h], 8), mask), _mm256_srli_epi32(state, 12)),
                               _mm256_srli_epi32(d[h], 20));
          const __m256i refill = _mm256_cmpeq_epi32(_mm256_srli_epi32(y, 15), zero);  // below rans_low
          const u32 set = u32(_mm256_movemask_ps(_mm256_castsi256_ps(refill)));
          const __m256i words = _mm256_cvtepu16_epi32(
              _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)word[s]), _mm_load_si128((const __m128i*)word_shuffles.spread[set])));
          state = _mm256_or_si256(_mm256_sllv_epi32(y, _mm256_and_si256(refill, _mm256_set1_epi32(16))), words);
          word[s] += 2 * __builtin_popcount(set);
        }
        const __m256i bytes = _mm256_or_si256(_mm256_shuffle_epi8(d[0], low_half), _mm256_shuffle_epi8(d[1], high_half));
        _mm_storeu_si128((__m128i*)(out[s] + i + 8 * size_t(v)), _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(bytes, order)));
      }
  for (int s = 0; s < count; s++) {
    for (int v = 0; v < vectors; v++) _mm256_storeu_si256((__m256i*)(streams[s]->state + 8 * v), x[s][v]);
    streams[s]->word = word[s];
    streams[s]->done += lanes * rounds;
  }
}

// Encodes the first n symbols, a multiple of the lanes.
template <int vectors>
void rans_encode_256(const RansSegment& g, size_t n, RansOutput& output) {
  // Reciprocals in the low halves, steps in the high halves: one load gets both.
  alignas(32) u64 both[2][64];
  for (int k = 0; k < 64; k++)
    for (int parity = 0; parity < 2; parity++) both[parity][k] = g.reciprocal[parity][k] | u64(g.step[parity][k]) << 32;
  const u8* const symbols = g.symbols;
  u32* const state = output.state;
  u16* word = output.word;
  __m256i x[vectors];
  for (int v = 0; v < vectors; v++) x[v] = _mm256_loadu_si256((const __m256i*)(state + 8 * v));
  const __m256i low12 = _mm256_set1_epi32(4095), low16 = _mm256_set1_epi32(0xffff);
  for (size_t i = n; i > 0;) {
    i -= 8 * vectors;
    for (int v = vectors - 1; v >= 0; v--) {
      const u8* s = symbols + i + 8 * size_t(v);
      auto two = [&](int a) __attribute__((always_inline)) {
        const u64* const t = both[a % 2];
        return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i*)&t[s[a]]), _mm_loadl_epi64((const __m128i*)&t[s[a + 2]]));
      };
      const __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(two(0)), two(4), 1),
                    odd = _mm256_inserti128_si256(_mm256_castsi128_si256(two(1)), two(5), 1);
      const __m256i step = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA), freq = _mm256_and_si256(step, low12);
      const __m256i full = _mm256_cmpeq_epi32(_mm256_max_epu32(x[v], _mm256_slli_epi32(freq, 19)), x[v]);
      // Store the words of the full lanes, last lane first. Garbage stored behind them is overwritten later.
      const u32 set = u32(_mm256_movemask_ps(_mm256_castsi256_ps(full)));
      const __m256i low = _mm256_and_si256(x[v], low16);
      const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
      _mm_storeu_si128((__m128i*)word, _mm_shuffle_epi8(words, _mm_load_si128((const __m128i*)word_shuffles.pack[set])));
      word += __builtin_popcount(set);
      const __m256i y = _mm256_srlv_epi32(x[v], _mm256_and_si256(full, _mm256_set1_epi32(16)));
      const __m256i bias = _mm256_and_si256(_mm256_srli_epi32(step, 12), low16), rest = _mm256_sub_epi32(_mm256_set1_epi32(4096), freq);
      const __m256i e = _mm256_srli_epi64(_mm256_mul_epu32(y, even), 32), o = _mm256_mul_epu32(_mm256_srli_epi64(y, 32), odd);
      const __m256i quotient = _mm256_srlv_epi32(_mm256_blend_epi32(e, o, 0xAA), _mm256_srli_epi32(step, 28));
      x[v] = _mm256_add_epi32(_mm256_add_epi32(y, bias), _mm256_mullo_epi32(quotient, rest));
    }
  }
  for (int v = 0; v < vectors; v++) _mm256_storeu_si256((__m256i*)(state + 8 * v), x[v]);
  output.word = word;
}

}  // namespace
}  // namespace stz
#endif
