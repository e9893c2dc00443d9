// Kernels for codes (quantization indices) as bytes (zig-zag numbers below 255): contexts, activities, symbols, raw bits. Included by
// kernels.cpp only.
#pragma once
#include "simd/context_bins.h"
#include "simd/vectors.h"

namespace stz {
namespace {

// ---------------------------------------------------------------- contexts

// The number of thresholds 1..15 (increasing) that are at most the sum.
typedef u16 Words __attribute__((vector_size(vector_bytes)));
#if defined(STZ_512)
struct ThresholdSearch {  // binary search: each step looks up the middle threshold
  __m512i table[4];
  explicit ThresholdSearch(const u16* thresholds) {
    for (int t = 0; t < 4; t++) {
      u16 middle[32] = {};
      for (int reached = 0; reached < 16; reached += 16 >> t) middle[reached] = thresholds[reached + (8 >> t)];
      table[t] = t ? _mm512_loadu_si512(middle) : _mm512_set1_epi16(short(middle[0]));
    }
  }
};
STZ_INLINE Words number_of_thresholds(Words sum, const ThresholdSearch& search) {
  const __m512i s = (__m512i)sum;
  __m512i reached = _mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(s, search.table[0]), _mm512_set1_epi16(8));
  for (int t = 1; t < 4; t++) {
    const __mmask32 above = _mm512_cmpge_epu16_mask(s, _mm512_permutexvar_epi16(reached, search.table[t]));
    reached = _mm512_mask_add_epi16(reached, above, reached, _mm512_set1_epi16(short(8 >> t)));
  }
  return (Words)reached;
}
#elif defined(__AVX2__)
// binary search: each step looks up the middle threshold; both sides have 2^15 subtracted, for signed comparisons
struct ThresholdSearch {
  __m256i middle, table[3];
  explicit ThresholdSearch(const u16* thresholds) {
    auto below = [&](int k) { return short((thresholds[k] - 1) ^ 0x8000); };
    middle = _mm256_set1_epi16(below(8));
    for (int t = 0; t < 3; t++) {
      const int step = 4 >> t;
      short word[8] = {};
      for (int reached = 0; reached < 16; reached += 2 * step) word[reached / 2] = below(reached + step);
      table[t] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)word));
    }
  }
};
STZ_INLINE Words number_of_thresholds(Words sum, const ThresholdSearch& search) {
  const __m256i s = (__m256i)(sum ^ 0x8000);
  // Both bytes of a word hold the number found so far, which is even until the last step. The higher byte is 1 more, to look up both bytes
  // of a threshold.
  __m256i reached =
      _mm256_or_si256(_mm256_set1_epi16(0x0100), _mm256_and_si256(_mm256_cmpgt_epi16(s, search.middle), _mm256_set1_epi16(0x0808)));
  for (int t = 0; t < 2; t++) {
    const __m256i above = _mm256_cmpgt_epi16(s, _mm256_shuffle_epi8(search.table[t], reached));
    reached = _mm256_or_si256(reached, _mm256_and_si256(above, _mm256_set1_epi16(short(0x0404 >> t))));
  }
  const __m256i above = _mm256_cmpgt_epi16(s, _mm256_shuffle_epi8(search.table[2], reached));
  return (Words)_mm256_sub_epi16(_mm256_and_si256(reached, _mm256_set1_epi16(255)), above);
}
#else
// linear search; both sides have 2^15 subtracted for signed comparisons, which every instruction set has
struct ThresholdSearch {
  typedef short SignedWords __attribute__((vector_size(vector_bytes)));
  SignedWords before[contexts];
  explicit ThresholdSearch(const u16* thresholds) {
    for (int k = 1; k < contexts; k++) before[k] = SignedWords{} + short((thresholds[k] - 1) ^ 0x8000);
  }
};
STZ_INLINE Words number_of_thresholds(Words sum, const ThresholdSearch& search) {
  typedef ThresholdSearch::SignedWords SignedWords;
  const SignedWords s = (SignedWords)(sum ^ 0x8000);
  SignedWords reached{};
  for (int k = 1; k < contexts; k++) reached -= s > search.before[k];
  return (Words)reached;
}
#endif

// Contexts of `count` vectors. Bytes are summed in 16-bit lanes modulo 2^16: the odd bytes alone, and each pair as one number. In the end
// 256 times the odd sum is subtracted from the latter.
template <int count>
STZ_INLINE void contexts_of(const u8* row, const TapTable& taps, const u16* weights, const ThresholdSearch& search, u8* out) {
  typedef u16 LooseWords __attribute__((vector_size(vector_bytes), aligned(1), may_alias));
  Words both_total[count]{}, odd_total[count]{};
  const std::ptrdiff_t* o = taps.offset;
  for (int g = 0; g < taps.groups; g++) {
    Words both[count]{}, odd[count]{};
    for (const std::ptrdiff_t* const end = o + taps.taps[g]; o < end; o++)
      for (int v = 0; v < count; v++) {
        const Words w = *(const LooseWords*)(row + v * vector_bytes + *o);
        both[v] += w;
        odd[v] += w >> 8;
      }
    for (int v = 0; v < count; v++) {
      both_total[v] += both[v] * weights[g];
      odd_total[v] += odd[v] * weights[g];
    }
  }
  for (int v = 0; v < count; v++)
    *(LooseWords*)(out + v * vector_bytes) =
        number_of_thresholds(both_total[v] - (odd_total[v] << 8), search) | number_of_thresholds(odd_total[v], search) << 8;
}

void context(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* out) {
  constexpr int count = 2;
  const ThresholdSearch search(thresholds);
  for (int x = 0; x < n; x += count * vector_bytes) contexts_of<count>(row + x, taps, weights, search, out + x);
}

// ---------------------------------------------------------------- activities

#if defined(__AVX2__) && !defined(STZ_512)
// A lookup in a table of 256 bytes by shuffles of 16 bytes. A shuffle gives 0 for negative numbers and otherwise uses the low four bits.
// With 16 subtracted for each part, a number hits its own part and all parts before it. Parts are stored as differences (xor) to the
// previous one, so that their xor is the number's own part. Equal bytes at the end, as in saturating tables, need no parts: numbers are
// clipped to the first of them.
struct ByteTable {
  __m256i difference[16];
  __m256i most;
  int low_parts, high_parts;  // for numbers below 128 and from 128 on, which are looked up separately
  explicit ByteTable(const u8* table) {
    __m128i before = _mm_setzero_si128();
    for (int k = 0; k < 16; k++) {
      if (k == 8) before = _mm_setzero_si128();
      const __m128i part = _mm_loadu_si128((const __m128i*)(table + 16 * k));
      difference[k] = _mm256_broadcastsi128_si256(_mm_xor_si128(part, before));
      before = part;
    }
    int last = 255;
    while (last > 0 && table[last - 1] == table[255]) last--;
    most = _mm256_set1_epi8(char(last));
    low_parts = last < 128 ? last / 16 + 1 : 8;
    high_parts = last < 128 ? 0 : last / 16 - 7;
  }
  STZ_INLINE __m256i operator()(__m256i number) const {
    number = _mm256_min_epu8(number, most);
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i value = _mm256_shuffle_epi8(difference[0], number), left = number;
    for (int k = 1; k < low_parts; k++) {
      left = _mm256_subs_epi8(left, sixteen);
      value = _mm256_xor_si256(value, _mm256_shuffle_epi8(difference[k], left));
    }
    left = _mm256_xor_si256(number, _mm256_set1_epi8(-128));
    for (int k = 0; k < high_parts; k++) {
      value = _mm256_xor_si256(value, _mm256_shuffle_epi8(difference[8 + k], left));
      left = _mm256_subs_epi8(left, sixteen);
    }
    return value;
  }
};
#endif

// Writes rows of a parity class array: out = table[code], codes in raster order.
void activities(const u8* code, const ClassRows& rows, const u8* table, u8* out) {
#if defined(STZ_512)
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64), t2 = _mm512_loadu_si512(table + 128),
                t3 = _mm512_loadu_si512(table + 192);
#elif defined(__AVX2__)
  const ByteTable look_up_bytes(table);
#endif
  for (i64 i = 0; i < rows.n[0]; i++)
    for (i64 j = 0; j < rows.n[1]; j++)
      for (i64 k = 0; k < rows.n[2]; k++, code += rows.n[3]) {
        u8* row = out + i * rows.stride[0] + j * rows.stride[1] + k * rows.stride[2];
        i64 x = 0;
#if defined(STZ_512)
        for (; x < rows.n[3]; x += 64) {
          const __mmask64 on = rows.n[3] - x >= 64 ? ~__mmask64(0) : (__mmask64(1) << (rows.n[3] - x)) - 1;
          const __m512i z = _mm512_maskz_loadu_epi8(on, code + x);
          const __m512i low = _mm512_permutex2var_epi8(t0, z, t1), high = _mm512_permutex2var_epi8(t2, z, t3);
          _mm512_mask_storeu_epi8(row + x, on, _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(z), high));
        }
#elif defined(__AVX2__)
        for (; x + 32 <= rows.n[3]; x += 32)
          _mm256_storeu_si256((__m256i*)(row + x), look_up_bytes(_mm256_loadu_si256((const __m256i*)(code + x))));
        if (x && x < rows.n[3]) {  // overlaps the previous vector
          x = rows.n[3] - 32;
          _mm256_storeu_si256((__m256i*)(row + x), look_up_bytes(_mm256_loadu_si256((const __m256i*)(code + x))));
          x += 32;
        }
#endif
        for (; x < rows.n[3]; x++) row[x] = table[code[x]];
      }
}

// ---------------------------------------------------------------- symbols and raw bits

u8 largest_byte(const u8* code, size_t n) {
  u8 largest = 0;
  for (size_t i = 0; i < n; i++) largest = code[i] > largest ? code[i] : largest;
  return largest;
}

size_t find_bytes(const u8* code, size_t n, u8 least, u32* index) {
  size_t reached = 0;
  size_t i = 0;
  // Whole vectors of places are written at `reached`, which is at most i, so nothing is written beyond n.
#if defined(STZ_512)
  alignas(64) u8 numbers[64];
  for (int k = 0; k < 64; k++) numbers[k] = u8(k);
  const __m512i limit = _mm512_set1_epi8(char(least)), all = _mm512_load_si512(numbers);
  for (; i + 64 <= n; i += 64) {
    const __mmask64 set = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(code + i), limit);
    if (!set) continue;
    const __m512i packed = _mm512_maskz_compress_epi8(set, all), first = _mm512_set1_epi32(int(i));
    auto put = [&](int k, __m128i places) __attribute__((always_inline)) {
      _mm512_storeu_si512(index + reached + 16 * k, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(places)));
    };
    put(0, _mm512_castsi512_si128(packed));
    put(1, _mm512_extracti32x4_epi32(packed, 1));
    put(2, _mm512_extracti32x4_epi32(packed, 2));
    put(3, _mm512_extracti32x4_epi32(packed, 3));
    reached += size_t(__builtin_popcountll(set));
  }
#elif defined(__AVX2__)
  const __m256i limit = _mm256_set1_epi8(char(least)), eight = _mm256_set1_epi32(8);
  for (; i + 32 <= n; i += 32) {
    const __m256i z = _mm256_loadu_si256((const __m256i*)(code + i));
    u32 set = u32(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(z, limit), z)));
    if (!set) continue;
    __m256i first = _mm256_set1_epi32(int(i));
    for (int octet = 0; octet < 4; octet++, set >>= 8, first = _mm256_add_epi32(first, eight)) {
      const __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)octet_shuffles.pack[set & 255]));
      _mm256_storeu_si256((__m256i*)(index + reached), _mm256_add_epi32(first, places));
      reached += size_t(__builtin_popcount(set & 255));
    }
  }
#endif
  for (; i < n; i++) {
    index[reached] = u32(i);
    reached += code[i] >= least;
  }
  return reached;
}

void shift_bytes(u8* code, size_t n, int shift) {
  for (size_t i = 0; i < n; i++) code[i] = u8(code[i] >> shift);
}

// Packs the low `shift` bits of eight codes into a word, the first code lowest. `code` is read up to a multiple of eight.
void gather_low_bits(const u8* code, size_t words, int shift, u64* out) {
  const u64 mask = 0x0101010101010101u * ((1u << shift) - 1);
  for (size_t w = 0; w < words; w++) {
    u64 v;
    __builtin_memcpy(&v, code + 8 * w, 8);
#if defined(__BMI2__)
    out[w] = _pext_u64(v, mask);
#else
    u64 packed = 0;
    for (int i = 0; i < 8; i++) packed |= (u64(code[8 * w + size_t(i)]) & ((1u << shift) - 1)) << (shift * i);
    (void)mask, (void)v;
    out[w] = packed;
#endif
  }
}
// code = code << shift | bits
void spread_low_bits(const u64* in, size_t words, int shift, u8* code) {
  const u64 mask = 0x0101010101010101u * ((1u << shift) - 1);
  for (size_t w = 0; w < words; w++) {
#if defined(__BMI2__)
    u64 v;
    __builtin_memcpy(&v, code + 8 * w, 8);
    v = ((v << shift) & ~mask) | _pdep_u64(in[w], mask);  // masks bits shifted into the next byte
    __builtin_memcpy(code + 8 * w, &v, 8);
#else
    (void)mask;
    for (int i = 0; i < 8; i++) {
      u8& c = code[8 * w + size_t(i)];
      c = u8(c << shift | (in[w] >> (shift * i) & ((1u << shift) - 1)));
    }
#endif
  }
}

}  // namespace
}  // namespace stz
