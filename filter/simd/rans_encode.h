// The encoder's loops of interleaved rANS. Included by kernels.cpp only. The scalar bodies are the reference. AVX-512 handles up to four
// streams at once, because their states do not depend on each other. AVX2 is in rans_avx2.h.
#pragma once
#include "simd/gather.h"
#include "simd/rans_avx2.h"
#include "simd/vectors.h"

namespace stz {
namespace {

// Whether a word is written is hard to predict. With a single lane a branch is still fastest, see rans_refill_single.
template <u32 lanes>
STZ_INLINE u32 rans_put(u32 x, u32 reciprocal, u32 step, u16*& word) {
  const u32 freq = step & 4095;
  if constexpr (lanes == 1) {
    const bool full = x >= freq << 19;
    if (full) *word++ = u16(x);
    x = full ? x >> 16 : x;
  } else {
    u32 full = x >= freq << 19;
    __asm__("" : "+r"(full), "+r"(x));
    *word = u16(x);
    word += full;
    x >>= 16 * full;
  }
  return x + (step >> 12 & 0xffff) + (u32((u64(x) * reciprocal) >> 32) >> (step >> 28)) * (4096 - freq);
}

// Encodes the symbols of a segment behind its last whole round of `unit`.
template <u32 lanes>
size_t rans_encode_rest(const RansSegment& g, u32 unit, RansOutput& s) {
  const size_t rounds = g.n / unit * unit;
  u16* word = s.word;
  for (size_t j = g.n; j-- > rounds;) {
    const u8 symbol = g.symbols[j];
    u32& x = s.state[j % lanes];
    x = rans_put<1>(x, g.reciprocal[j % 2][symbol], g.step[j % 2][symbol], word);
  }
  s.word = word;
  return rounds;
}

// Encodes the first n symbols, a multiple of the lanes.
template <u32 lanes, bool tokens>
void rans_encode_scalar(const RansSegment& g, size_t n, RansOutput& s) {
  u16* word = s.word;
  u32 x[lanes];
  for (u32 k = 0; k < lanes; k++) x[k] = s.state[k];
  const u8* const symbols = g.symbols;
  const u32 *const reciprocal[2] = {g.reciprocal[0], g.reciprocal[1]}, *const step[2] = {g.step[0], g.step[1]};
  for (size_t i = n; i > 0;) {
    i -= lanes;
    for (u32 k = lanes; k-- > 0;) {
      const u32 parity = tokens ? k % 2 : 0;
      const u8 symbol = symbols[i + k];
      x[k] = rans_put<lanes>(x[k], reciprocal[parity][symbol], step[parity][symbol], word);
    }
  }
  for (u32 k = 0; k < lanes; k++) s.state[k] = x[k];
  s.word = word;
}
template <u32 lanes>
void rans_encode_scalar(const RansSegment& g, size_t n, RansOutput& s) {
  if (g.reciprocal[0] == g.reciprocal[1])
    rans_encode_scalar<lanes, false>(g, n, s);
  else
    rans_encode_scalar<lanes, true>(g, n, s);
}

// The position of a stream in its segments, last segment first.
template <u32 lanes>
struct RansCursor {
  static constexpr u32 unit = lanes < 2 ? 2 : lanes;  // symbols of a round
  RansOutput* output;
  const RansSegment* segment;
  size_t left;  // symbols in whole rounds of the segment that are left
  void start(RansOutput& s) {
    output = &s;
    segment = s.segments + s.count;
    left = 0;
  }
  // Advances to the next segment if this one is done. Returns false at the end.
  bool next(bool& is_new) {
    is_new = !left;
    while (!left && segment != output->segments) left = rans_encode_rest<lanes>(*--segment, unit, *output);
    return left != 0;
  }
};

// Walks through streams, up to four at a time. Calls begin(slot, segment) for each new segment, then rounds(cursor of each slot, slots,
// their count, rounds that all of them have). Slots of finished streams are reused.
template <u32 lanes, class Begin, class Rounds>
STZ_INLINE void rans_side_by_side(RansOutput* streams, int count, Begin begin, Rounds rounds) {
  constexpr int most = 4;
  RansCursor<lanes> cursor[most];
  int slot[most] = {0, 1, 2, 3}, together = 0;
  for (int next = 0;;) {
    while (together < most && next < count) cursor[slot[together++]].start(streams[next++]);
    size_t common = ~size_t(0);
    for (int s = 0; s < together;) {
      RansCursor<lanes>& c = cursor[slot[s]];
      bool is_new;
      if (!c.next(is_new)) {
        const int ended = slot[s];
        slot[s] = slot[--together];
        slot[together] = ended;
        continue;
      }
      if (is_new) begin(slot[s], *c.segment);
      common = c.left < common ? c.left : common;
      s++;
    }
    if (together) rounds(cursor, slot, together, common / cursor[0].unit);
    for (int s = 0; s < together; s++) cursor[slot[s]].left -= common;
    if (!together && next == count) return;
  }
}

// Streams of one lane.
template <int count>
void rans_single_lanes(RansCursor<1>* cursor, const int* slot, size_t rounds) {
  const RansSegment* segment[count];
  const u8* symbols[count];
  u32 x[count];
  u16* word[count];
  for (int s = 0; s < count; s++) {
    const RansCursor<1>& c = cursor[slot[s]];
    segment[s] = c.segment;
    symbols[s] = c.segment->symbols + c.left;
    x[s] = c.output->state[0];
    word[s] = c.output->word;
  }
  for (; rounds; rounds--)
    for (int parity : {1, 0})
      for (int s = 0; s < count; s++) {
        const u8 symbol = *--symbols[s];
        x[s] = rans_put < count == 1 ? 1 : 2 > (x[s], segment[s]->reciprocal[parity][symbol], segment[s]->step[parity][symbol], word[s]);
      }
  for (int s = 0; s < count; s++) {
    cursor[slot[s]].output->state[0] = x[s];
    cursor[slot[s]].output->word = word[s];
  }
}

#ifdef STZ_512

// Tables of a segment, for symbols of even and odd index. A step is (4096 - frequency) << 19 | bias << 5 | shift. Adding its first part to
// a state sets the top bit if the state must write a word.
struct alignas(64) RansSteps {
  u32 reciprocal[2][64], step[2][64];
  bool tokens, small;  // both parities have different tables; only the first 32 symbols occur

  void set(const RansSegment& g) {
    tokens = g.reciprocal[0] != g.reciprocal[1];
    small = !tokens && g.symbol_count <= 32;
    const __m512i low12 = _mm512_set1_epi32(4095);
    for (int parity = 0; parity < 2; parity++)
      for (int k = 0; k < 64; k += 16) {
        const __m512i e = _mm512_loadu_si512(g.step[parity] + k),
                      rest = _mm512_sub_epi32(_mm512_set1_epi32(4096), _mm512_and_si512(e, low12));
        const __m512i bias = _mm512_and_si512(_mm512_srli_epi32(e, 12), _mm512_set1_epi32(0x1fff));
        const __m512i other = _mm512_or_si512(_mm512_slli_epi32(bias, 5), _mm512_srli_epi32(e, 28));
        _mm512_store_si512(step[parity] + k, _mm512_or_si512(_mm512_slli_epi32(rest, 19), other));
        _mm512_store_si512(reciprocal[parity] + k, _mm512_loadu_si512(g.reciprocal[parity] + k));
      }
  }
};

enum RansTables { small_table, one_table, two_tables };

template <int tables>
STZ_INLINE __m512i rans_look_up(const u32 (*t)[64], __m512i symbol, __mmask16 upper) {
  auto of = [&](const u32* p) __attribute__((always_inline)) {
    const __m512i low = _mm512_permutex2var_epi32(_mm512_load_si512(p), symbol, _mm512_load_si512(p + 16));
    if (tables == small_table) return low;
    const __m512i high = _mm512_permutex2var_epi32(_mm512_load_si512(p + 32), symbol, _mm512_load_si512(p + 48));
    return _mm512_mask_mov_epi32(low, upper, high);
  };
  if (tables < two_tables) return of(t[0]);
  return _mm512_mask_mov_epi32(of(t[0]), 0x5555, of(t[1]));  // lanes are in reverse order
}

// The next state, after its word (if any) was written.
STZ_INLINE __m512i rans_step(__m512i x, __m512i r, __m512i e, __mmask16 full) {
  const __m512i y = _mm512_mask_srli_epi32(x, full, x, 16);
  const __m512i even = _mm512_mul_epu32(y, r), odd = _mm512_mul_epu32(_mm512_srli_epi64(y, 32), _mm512_shuffle_epi32(r, _MM_PERM_DDBB));
  const __m512i product = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  const __m512i quotient = _mm512_shrdv_epi32(product, _mm512_setzero_si512(), e);  // uses the lowest five bits
  const __m512i bias = _mm512_and_si512(_mm512_srli_epi32(e, 5), _mm512_set1_epi32(0x1fff));
  return _mm512_add_epi32(_mm512_add_epi32(y, bias), _mm512_mullo_epi32(quotient, _mm512_srli_epi32(e, 19)));
}
STZ_INLINE __mmask16 rans_full(__m512i x, __m512i e) {
  return _mm512_movepi32_mask(_mm512_add_epi32(x, _mm512_and_si512(e, _mm512_set1_epi32(i32(0xfff80000)))));
}

// Encodes rounds of streams of 16 lanes or more. Lanes are kept in reverse order, the order in which they write words.
template <int vectors, int count, int tables>
void rans_rounds_encoded(RansCursor<16 * vectors>* cursor, const int* slot, const RansSteps* steps, size_t rounds) {
  const __m512i backwards = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i x[count][vectors];
  const u8* symbols[count];
  u16* word[count];
  const RansSteps* t[count];
  for (int s = 0; s < count; s++) {
    const RansCursor<16 * vectors>& c = cursor[slot[s]];
    for (int v = 0; v < vectors; v++) x[s][v] = _mm512_permutexvar_epi32(backwards, _mm512_loadu_si512(c.output->state + 16 * v));
    symbols[s] = c.segment->symbols + c.left;
    word[s] = c.output->word;
    t[s] = &steps[slot[s]];
  }
  for (; rounds; rounds--)
    for (int v = vectors - 1; v >= 0; v--)
      for (int s = 0; s < count; s++) {
        symbols[s] -= 16;
        // Only the lowest byte of a lane matters: its symbol.
        const __m512i symbol = _mm512_permutexvar_epi8(backwards, _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)symbols[s])));
        const __mmask16 upper = tables == small_table ? 0 : _mm512_test_epi32_mask(symbol, _mm512_set1_epi32(32));
        const __m512i r = rans_look_up<tables>(t[s]->reciprocal, symbol, upper), e = rans_look_up<tables>(t[s]->step, symbol, upper);
        const __mmask16 full = rans_full(x[s][v], e);
        _mm256_storeu_si256((__m256i*)word[s], _mm256_maskz_compress_epi16(full, _mm512_cvtepi32_epi16(x[s][v])));
        word[s] += __builtin_popcount(full);
        x[s][v] = rans_step(x[s][v], r, e, full);
      }
  for (int s = 0; s < count; s++) {
    RansOutput& o = *cursor[slot[s]].output;
    for (int v = 0; v < vectors; v++) _mm512_storeu_si512(o.state + 16 * v, _mm512_permutexvar_epi32(backwards, x[s][v]));
    o.word = word[s];
  }
}

template <int vectors, int count>
void rans_rounds_encoded(RansCursor<16 * vectors>* cursor, const int* slot, const RansSteps* steps, size_t rounds) {
  bool tokens = false, small = true;
  for (int s = 0; s < count; s++) {
    tokens |= steps[slot[s]].tokens;
    small &= steps[slot[s]].small;
  }
  if (tokens)
    rans_rounds_encoded<vectors, count, two_tables>(cursor, slot, steps, rounds);
  else if (small)
    rans_rounds_encoded<vectors, count, small_table>(cursor, slot, steps, rounds);
  else
    rans_rounds_encoded<vectors, count, one_table>(cursor, slot, steps, rounds);
}

// Encodes rounds of two to four streams of four lanes, all in one vector, each with its lanes reversed.
void rans_rounds_of_four_lanes(RansCursor<4>* cursor, const int* slot, int count, const RansSteps* steps, size_t rounds) {
  alignas(64) u32 state[16];
  alignas(64) u16 words[32];
  alignas(64) i32 table[16];
  const u8* symbols[4];
  u16* word[4];
  for (int s = 0; s < 4; s++) {
    const int from = slot[s < count ? s : 0];  // unused places repeat the first stream
    const RansCursor<4>& c = cursor[from];
    for (int k = 0; k < 4; k++) {
      state[4 * s + k] = c.output->state[3 - k];
      table[4 * s + k] = from * i32(sizeof(RansSteps) / 4) + (k % 2 ? 0 : 64);
    }
    symbols[s] = c.segment->symbols + c.left;
    word[s] = c.output->word;
  }
  const __m512i table_of = _mm512_load_si512(table);
  const __m128i backwards = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  __m512i x = _mm512_load_si512(state);
  for (; rounds; rounds--) {
    u32 four[4];
    for (int s = 0; s < 4; s++) __builtin_memcpy(&four[s], symbols[s] -= 4, 4);
    const __m128i bytes = _mm_setr_epi32(int(four[0]), int(four[1]), int(four[2]), int(four[3]));
    const __m512i index = _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm_shuffle_epi8(bytes, backwards)), table_of);
    const __m512i r = gathered(steps->reciprocal[0], index), e = gathered(steps->step[0], index);
    const __mmask16 full = rans_full(x, e);
    _mm256_store_si256((__m256i*)words, _mm256_maskz_compress_epi16(full, _mm512_cvtepi32_epi16(x)));
    const u32 set = full;
    const u16* next = words;
    for (int s = 0; s < 4; s++) {
      __builtin_memcpy(word[s], next, 8);
      const int given = __builtin_popcount(set & 15u << 4 * s);
      word[s] += given;
      next += given;
    }
    x = rans_step(x, r, e, full);
  }
  _mm512_store_si512(state, x);
  for (int s = 0; s < count; s++) {
    RansOutput& o = *cursor[slot[s]].output;
    for (int k = 0; k < 4; k++) o.state[3 - k] = state[4 * s + k];
    o.word = word[s];
  }
}

template <u32 lanes>
void rans_encode_512(RansOutput* streams, int count) {
  RansSteps steps[4];
  rans_side_by_side<lanes>(
      streams, count, [&](int slot, const RansSegment& g) { steps[slot].set(g); },
      [&](RansCursor<lanes>* cursor, const int* slot, int together, size_t rounds) {
        if constexpr (lanes == 4) {
          if (together > 1)
            rans_rounds_of_four_lanes(cursor, slot, together, steps, rounds);
          else
            rans_encode_scalar<4>(*cursor[slot[0]].segment, cursor[slot[0]].left, *cursor[slot[0]].output);
        } else if (together == 4)
          rans_rounds_encoded<lanes / 16, 4>(cursor, slot, steps, rounds);
        else if (together == 3)
          rans_rounds_encoded<lanes / 16, 3>(cursor, slot, steps, rounds);
        else if (together == 2)
          rans_rounds_encoded<lanes / 16, 2>(cursor, slot, steps, rounds);
        else
          rans_rounds_encoded<lanes / 16, 1>(cursor, slot, steps, rounds);
      });
}

#endif

template <u32 lanes>
void rans_encode_lanes(RansOutput* streams, int count) {
#if defined(STZ_512)
  if constexpr (lanes >= 16) return rans_encode_512<lanes>(streams, count);
  if constexpr (lanes == 4)
    if (gather_is_fast()) return rans_encode_512<lanes>(streams, count);
#endif
  if constexpr (lanes == 1) {
    rans_side_by_side<1>(
        streams, count, [](int, const RansSegment&) {},
        [](RansCursor<1>* cursor, const int* slot, int together, size_t rounds) {
          if (together == 4)
            rans_single_lanes<4>(cursor, slot, rounds);
          else if (together == 3)
            rans_single_lanes<3>(cursor, slot, rounds);
          else if (together == 2)
            rans_single_lanes<2>(cursor, slot, rounds);
          else
            rans_single_lanes<1>(cursor, slot, rounds);
        });
    return;
  }
  for (RansOutput* s = streams; s < streams + count; s++)
    for (const RansSegment* g = s->segments + s->count; g-- != s->segments;) {
      const size_t n = rans_encode_rest<lanes>(*g, lanes, *s);
#if defined(__AVX2__) && !defined(STZ_512)
      if constexpr (lanes >= 16) {
        rans_encode_256<lanes / 8>(*g, n, *s);
        continue;
      }
#endif
      rans_encode_scalar<lanes>(*g, n, *s);
    }
}

}  // namespace
}  // namespace stz
