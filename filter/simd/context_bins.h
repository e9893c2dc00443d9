// Partitions codes (quantization indices) by context into bins, and merges them again. Included by byte_kernels.h only. Nothing is read or
// written beyond n, except in the bins, which have room for 64 more codes. Every variant gives the same bins and counts.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

#if defined(STZ_512)
// The contexts that occur among n (bit k: context k).
STZ_INLINE u32 occurring(const u8* context, size_t n) {
  const __m512i low = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0)),
                high = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
  __m512i a = _mm512_setzero_si512(), b = a;
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i);  // 255, no context, looks up 0
    a = _mm512_or_si512(a, _mm512_shuffle_epi8(low, c));
    b = _mm512_or_si512(b, _mm512_shuffle_epi8(high, c));
  }
  u8 bytes[128], any_low = 0, any_high = 0;
  _mm512_storeu_si512(bytes, a);
  _mm512_storeu_si512(bytes + 64, b);
  for (int i = 0; i < 64; i++) any_low |= bytes[i], any_high |= bytes[64 + i];
  return any_low | u32(any_high) << 8;
}

// Collects the bins and numbers of the contexts that occur. Returns their count.
template <class Byte>
inline int bins_in_use(const u8* context, size_t n, Byte* bins, size_t pitch, Byte** bin, int* number) {
  int used = 0;
  for (u32 rest = occurring(context, n); rest; rest &= rest - 1) {
    number[used] = __builtin_ctz(rest);
    bin[used] = bins + size_t(number[used]) * pitch;
    used++;
  }
  return used;
}
#elif defined(__AVX2__)
// Shuffles of eight bytes for each subset of them. (The bit instructions pext and pdep are slow on some processors.)
struct alignas(64) OctetShuffles {
  u8 pack[256][8];    // moves the bytes of the subset to the front, in order
  u8 spread[256][8];  // moves the first bytes to the places of the subset, in order; others become 0
};
constexpr OctetShuffles make_octet_shuffles() {
  OctetShuffles t{};
  for (int set = 0; set < 256; set++) {
    int taken = 0;
    for (int k = 0; k < 8; k++) {
      const bool in = set >> k & 1;
      t.spread[set][k] = u8(in ? taken : 0x80);
      if (in) t.pack[set][taken++] = u8(k);
    }
  }
  return t;
}
constexpr OctetShuffles octet_shuffles = make_octet_shuffles();

// A few contexts usually have most codes. These frequent contexts are sorted 32 codes at a time; each costs the same, however many codes it
// has. Other codes are sorted one by one from a list of their places. Which contexts are frequent is estimated from a sample; the result
// does not depend on it.
struct Frequent {
  int count = 0;
  u8 number[contexts];  // numbers of frequent contexts, the most frequent first
  bool worth = false;   // false: sorting all codes one by one is faster
  __m256i infrequent;   // by context: bit 7 is set unless it is frequent
  Frequent(const u8* context, size_t n) {
    constexpr u32 step = 256, length = 16;      // of the sample
    constexpr u32 limit = 9, listed_cost = 20;  // measured, in units of the cost of a frequent context
    u32 occurs[256] = {}, samples = 0, listed = 0;
    for (size_t i = 0; i + step <= n; i += step, samples += length)
      for (size_t k = 0; k < length; k++) occurs[context[i + k]]++;
    u8 table[contexts] = {};
    for (int k = 0; k < contexts; k++)
      if (occurs[k] * 16 > samples) {
        number[count++] = u8(k);
        if (occurs[k] > occurs[number[0]]) {
          number[count - 1] = number[0];
          number[0] = u8(k);
        }
      } else {
        listed += occurs[k];
        table[k] = 0x80;
      }
    infrequent = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table));
    worth = count && samples * u32(count) + listed_cost * listed <= limit * samples;
  }
  // Which of 32 contexts are not frequent. 255 (no context) is not included, because its bit 7 makes the shuffle give 0.
  STZ_INLINE u32 rest(__m256i c) const { return u32(_mm256_movemask_epi8(_mm256_shuffle_epi8(infrequent, c))); }
  STZ_INLINE bool all_most_frequent(__m256i c) const {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(c, _mm256_set1_epi8(char(number[0])))) == -1;
  }
};
constexpr size_t strip = 8192;  // samples per pass; the listed ones among them follow

// Appends the places of a subset of 32 samples, the first at `at`, to a list. Up to 8 entries beyond may be written.
STZ_INLINE void list_places(u32 set, size_t at, u16* list, size_t& length) {
  __m128i first = _mm_set1_epi16(short(at));
  for (int octet = 0; octet < 4; octet++, set >>= 8, first = _mm_add_epi16(first, _mm_set1_epi16(8))) {
    const __m128i places = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i*)octet_shuffles.pack[set & 255]));
    _mm_storeu_si128((__m128i*)(list + length), _mm_add_epi16(first, places));
    length += size_t(__builtin_popcount(set & 255));
  }
}

STZ_INLINE __m128i octet_of(__m256i v, int k) {
  const __m128i half = k < 2 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1);
  return k & 1 ? _mm_unpackhi_epi64(half, half) : half;
}

// next[k]: where the next code of context k goes.
void partition_frequent(const Frequent& frequent, const u8* code, const u8* context, size_t n, u8** next) {
  u16 list[strip + 8];
  const int count = frequent.count;
  u8* bin[contexts];
  for (int f = 0; f < count; f++) bin[f] = next[frequent.number[f]];
  size_t start = 0;
  while (start + 32 <= n) {
    size_t i = 0, listed = 0;
    const size_t end = n - start < strip ? n - start : strip;
    const u8 *z_at = code + start, *c_at = context + start;
    for (; i + 32 <= end; i += 32) {
      const __m256i c = _mm256_loadu_si256((const __m256i*)(c_at + i)), z = _mm256_loadu_si256((const __m256i*)(z_at + i));
      if (frequent.all_most_frequent(c)) {
        _mm256_storeu_si256((__m256i*)bin[0], z);
        bin[0] += 32;
        continue;
      }
      const __m128i octet[4] = {octet_of(z, 0), octet_of(z, 1), octet_of(z, 2), octet_of(z, 3)};
      for (int f = 0; f < count; f++) {
        const u32 set = u32(_mm256_movemask_epi8(_mm256_cmpeq_epi8(c, _mm256_set1_epi8(char(frequent.number[f])))));
        u8* q = bin[f];
        for (int k = 0; k < 4; k++) {
          const u32 octet_set = set >> 8 * k & 255;
          _mm_storel_epi64((__m128i*)q, _mm_shuffle_epi8(octet[k], _mm_loadl_epi64((const __m128i*)octet_shuffles.pack[octet_set])));
          q += __builtin_popcount(octet_set);
        }
        bin[f] = q;
      }
      list_places(frequent.rest(c), i, list, listed);
    }
    for (size_t k = 0; k < listed; k++) *next[c_at[list[k]]]++ = z_at[list[k]];
    start += i;
  }
  for (int f = 0; f < count; f++) next[frequent.number[f]] = bin[f];
  for (; start < n; start++)
    if (context[start] < contexts) *next[context[start]]++ = code[start];
}

// The inverse.
void merge_frequent(const Frequent& frequent, const u8* context, size_t n, u8* code, const u8** next) {
  u16 list[strip + 8];
  const int count = frequent.count;
  const u8* bin[contexts];
  for (int f = 0; f < count; f++) bin[f] = next[frequent.number[f]];
  size_t start = 0;
  while (start + 32 <= n) {
    size_t i = 0, listed = 0;
    const size_t end = n - start < strip ? n - start : strip;
    u8* z_at = code + start;
    const u8* c_at = context + start;
    for (; i + 32 <= end; i += 32) {
      const __m256i c = _mm256_loadu_si256((const __m256i*)(c_at + i));
      if (frequent.all_most_frequent(c)) {
        _mm256_storeu_si256((__m256i*)(z_at + i), _mm256_loadu_si256((const __m256i*)bin[0]));
        bin[0] += 32;
        continue;
      }
      __m128i octet[4] = {};
      for (int f = 0; f < count; f++) {
        const u32 set = u32(_mm256_movemask_epi8(_mm256_cmpeq_epi8(c, _mm256_set1_epi8(char(frequent.number[f])))));
        const u8* q = bin[f];
        for (int k = 0; k < 4; k++) {
          const u32 octet_set = set >> 8 * k & 255;
          octet[k] = _mm_or_si128(octet[k], _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i*)q),
                                                             _mm_loadl_epi64((const __m128i*)octet_shuffles.spread[octet_set])));
          q += __builtin_popcount(octet_set);
        }
        bin[f] = q;
      }
      _mm_storeu_si128((__m128i*)(z_at + i), _mm_unpacklo_epi64(octet[0], octet[1]));
      _mm_storeu_si128((__m128i*)(z_at + i + 16), _mm_unpacklo_epi64(octet[2], octet[3]));
      list_places(frequent.rest(c), i, list, listed);
    }
    for (size_t k = 0; k < listed; k++) z_at[list[k]] = *next[c_at[list[k]]]++;
    start += i;
  }
  for (int f = 0; f < count; f++) next[frequent.number[f]] = bin[f];
  for (; start < n; start++) code[start] = context[start] < contexts ? *next[context[start]]++ : u8(0);
}
#endif

void count_contexts(const u8* context, size_t n, size_t* counts) {
#if defined(STZ_512)
  for (int k = 0; k < contexts; k++) counts[k] = 0;
  const u32 present = occurring(context, n);
  for (u32 rest = present; rest; rest &= rest - 1) {
    const int k = __builtin_ctz(rest);
    const __m512i wanted = _mm512_set1_epi8(char(k));
    size_t count = 0;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) count += size_t(__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(context + i), wanted)));
    if (i < n)
      count += size_t(__builtin_popcountll(_mm512_mask_cmpeq_epi8_mask(
          (__mmask64(1) << (n - i)) - 1, _mm512_maskz_loadu_epi8((__mmask64(1) << (n - i)) - 1, context + i), wanted)));
    counts[k] = count;
  }
#else
  typedef u8 Bytes __attribute__((vector_size(vector_bytes)));
  typedef u8 LooseBytes __attribute__((vector_size(vector_bytes), aligned(1), may_alias));
  for (int k = 0; k < contexts; k++) counts[k] = 0;
  size_t i = 0;
  while (i + vector_bytes <= n) {
    // Count four contexts at a time; a byte counts to 255.
    const size_t vectors = (n - i) / vector_bytes < 255 ? (n - i) / vector_bytes : 255;
    for (int k = 0; k < contexts; k += 4) {
      Bytes count[4]{};
      for (size_t v = 0; v < vectors; v++) {
        const Bytes c = *(const LooseBytes*)(context + i + v * vector_bytes);
        for (int j = 0; j < 4; j++) count[j] -= (Bytes)(c == u8(k + j));
      }
      for (int j = 0; j < 4; j++)
        for (int b = 0; b < vector_bytes; b++) counts[k + j] += count[j][b];
    }
    i += vectors * vector_bytes;
  }
  for (; i < n; i++)
    if (context[i] < contexts) counts[context[i]]++;
#endif
}

// The place of each context's first code in each quarter of a parity class. Scalar loops walk through four quarters at once.
struct Quarters {
  size_t length;
  size_t next[4][256];
  Quarters(const u8* context, size_t n, size_t pitch) : length(n / 4) {
    size_t count[3][contexts];  // the last quarter needs none
    for (size_t p = 0; p < 3; p++) count_contexts(context + p * length, length, count[p]);
    for (size_t k = 0; k < 256; k++) {
      size_t at = k < contexts ? k * pitch : contexts * pitch;  // codes without a context go behind the last bin
      for (size_t p = 0; p < 4; p++) {
        next[p][k] = at;
        if (k < contexts && p < 3) at += count[p][k];
      }
    }
  }
};

// Stable: bin k, at bins + k * pitch, gets the counts[k] codes of context k.
void partition_by_context(const u8* code, const u8* context, size_t n, u8* bins, size_t pitch, size_t* counts) {
#if defined(STZ_512)
  u8* bin[contexts];
  int number[contexts];
  const int used = bins_in_use(context, n, bins, pitch, bin, number);
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i), z = _mm512_maskz_loadu_epi8(on, code + i);
    for (int k = 0; k < used; k++) {
      const __mmask64 m = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(char(number[k])));
      _mm512_storeu_si512(bin[k], _mm512_maskz_compress_epi8(m, z));
      bin[k] += __builtin_popcountll(m);
    }
  }
  for (int k = 0; k < contexts; k++) counts[k] = 0;
  for (int k = 0; k < used; k++) counts[number[k]] = size_t(bin[k] - (bins + size_t(number[k]) * pitch));
#else
#if defined(__AVX2__)
  const Frequent frequent(context, n);
  if (frequent.worth) {
    u8* next[contexts];
    for (size_t k = 0; k < contexts; k++) next[k] = bins + k * pitch;
    partition_frequent(frequent, code, context, n, next);
    for (size_t k = 0; k < contexts; k++) counts[k] = size_t(next[k] - (bins + k * pitch));
    return;
  }
#endif
  Quarters q(context, n, pitch);
  for (size_t i = 0; i < q.length; i++)
    for (size_t p = 0; p < 4; p++) {
      const u8 k = context[p * q.length + i];
      bins[q.next[p][k]] = code[p * q.length + i];
      q.next[p][k] += k < contexts;
    }
  for (size_t i = 4 * q.length; i < n; i++) {
    bins[q.next[3][context[i]]] = code[i];
    q.next[3][context[i]] += context[i] < contexts;
  }
  for (size_t k = 0; k < contexts; k++) counts[k] = q.next[3][k] - k * pitch;
#endif
}

// The inverse. Codes without a context become 0.
void merge_contexts(const u8* bins, size_t pitch, const u8* context, size_t n, u8* code) {
#if defined(STZ_512)
  const u8* bin[contexts];
  int number[contexts];
  const int used = bins_in_use(context, n, bins, pitch, bin, number);
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i);
    __m512i z = _mm512_setzero_si512();
    for (int k = 0; k < used; k++) {
      const __mmask64 m = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(char(number[k])));
      z = _mm512_mask_expand_epi8(z, m, _mm512_loadu_si512(bin[k]));
      bin[k] += __builtin_popcountll(m);
    }
    _mm512_mask_storeu_epi8(code + i, on, z);
  }
#else
#if defined(__AVX2__)
  const Frequent frequent(context, n);
  if (frequent.worth) {
    const u8* next[contexts];
    for (size_t k = 0; k < contexts; k++) next[k] = bins + k * pitch;
    merge_frequent(frequent, context, n, code, next);
    return;
  }
#endif
  Quarters q(context, n, pitch);
  auto take = [&](size_t p, size_t i) {
    const u8 k = context[i];
    code[i] = k < contexts ? bins[q.next[p][k]] : u8(0);
    q.next[p][k] += k < contexts;
  };
  for (size_t i = 0; i < q.length; i++)
    for (size_t p = 0; p < 4; p++) take(p, p * q.length + i);
  for (size_t i = 4 * q.length; i < n; i++) take(3, i);
#endif
}

}  // namespace
}  // namespace stz
