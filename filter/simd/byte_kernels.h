// Codes as bytes (zig-zag numbers below 255): contexts, magnitudes, sorting by context and back. Included by kernels.cpp only.
#pragma once
#include "vectors.h"

namespace stz {
namespace {

constexpr int contexts = 16;

// ---------------------------------------------------------------- contexts

// How many of the rising thresholds 1..15 are not above a sum.
typedef u16 Words __attribute__((vector_size(vector_bytes)));
#if defined(STZ_512)
struct ThresholdSearch {  // binary
  __m512i table;
  explicit ThresholdSearch(const u16* thresholds) {
    u16 t[32] = {};
    for (int k = 0; k < contexts; k++) t[k] = thresholds[k];
    table = _mm512_loadu_si512(t);
  }
};
STZ_INLINE Words number_of_thresholds(Words sum, const ThresholdSearch& search) {
  const __m512i s = (__m512i)sum;
  __m512i found = _mm512_setzero_si512();
  for (short step = 8; step; step = short(step / 2)) {
    const __m512i next = _mm512_add_epi16(found, _mm512_set1_epi16(step));
    found = _mm512_mask_mov_epi16(found, _mm512_cmpge_epu16_mask(s, _mm512_permutexvar_epi16(next, search.table)), next);
  }
  return (Words)found;
}
#else
struct ThresholdSearch {  // one after the other; compared as signed numbers, which every instruction set can: both sides less 2^15
  typedef short SignedWords __attribute__((vector_size(vector_bytes)));
  SignedWords before[contexts];
  explicit ThresholdSearch(const u16* thresholds) {
    for (int k = 1; k < contexts; k++) before[k] = SignedWords{} + short((thresholds[k] - 1) ^ 0x8000);
  }
};
STZ_INLINE Words number_of_thresholds(Words sum, const ThresholdSearch& search) {
  typedef ThresholdSearch::SignedWords SignedWords;
  const SignedWords s = (SignedWords)(sum ^ 0x8000);
  SignedWords found{};
  for (int k = 1; k < contexts; k++) found -= s > search.before[k];
  return (Words)found;
}
#endif

// Adds weight * sum of `taps` taps to the sums of `count` vectors: bytes are summed as two sets of 16-bit lanes, the even and the odd ones.
template <int taps, int count>
STZ_INLINE void add_bytes(const u8* row, const std::ptrdiff_t* o, u16 weight, Words* even_total, Words* odd_total) {
  typedef u16 LooseWords __attribute__((vector_size(vector_bytes), aligned(1), may_alias));
  for (int v = 0; v < count; v++) {
    Words even{}, odd{};
    for (int t = 0; t < taps; t++) {
      const Words w = *(const LooseWords*)(row + v * vector_bytes + o[t]);
      even += w & 255;
      odd += w >> 8;
    }
    even_total[v] += even * weight;
    odd_total[v] += odd * weight;
  }
}

void context(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* out) {
  constexpr int count = 2;
  typedef u16 LooseWords __attribute__((vector_size(vector_bytes), aligned(1), may_alias));
  const ThresholdSearch search(thresholds);
  for (int x = 0; x < n; x += count * vector_bytes) {
    Words even[count]{}, odd[count]{};
    const std::ptrdiff_t* o = taps.offset;
    for (int g = 0; g < taps.groups; g++) {
      const int n_taps = taps.taps[g];
      if (const u16 w = weights[g]) {
        if (n_taps == 2)
          add_bytes<2, count>(row + x, o, w, even, odd);
        else if (n_taps == 4)
          add_bytes<4, count>(row + x, o, w, even, odd);
        else if (n_taps == 8)
          add_bytes<8, count>(row + x, o, w, even, odd);
        else
          for (int t = 0; t < n_taps; t++) add_bytes<1, count>(row + x, o + t, w, even, odd);
      }
      o += n_taps;
    }
    for (int v = 0; v < count; v++)
      *(LooseWords*)(out + x + v * vector_bytes) = number_of_thresholds(even[v], search) | number_of_thresholds(odd[v], search) << 8;
  }
}

// ---------------------------------------------------------------- magnitudes

// Rows of a class array: out = table[code], codes in raster order.
void magnitudes(const u8* code, const ClassRows& rows, const u8* table, u8* out) {
#if defined(STZ_512)
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64), t2 = _mm512_loadu_si512(table + 128),
                t3 = _mm512_loadu_si512(table + 192);
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
#endif
        for (; x < rows.n[3]; x++) row[x] = table[code[x]];
      }
}

// ---------------------------------------------------------------- sorting by context

#if defined(STZ_512)
// Contexts that occur among n (bit k: context k).
STZ_INLINE u32 occurring(const u8* context, size_t n) {
  const __m512i low = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0)),
                high = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
  __m512i a = _mm512_setzero_si512(), b = a;
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i);  // no context: 255 looks up 0
    a = _mm512_or_si512(a, _mm512_shuffle_epi8(low, c));
    b = _mm512_or_si512(b, _mm512_shuffle_epi8(high, c));
  }
  u8 bytes[128], any_low = 0, any_high = 0;
  _mm512_storeu_si512(bytes, a);
  _mm512_storeu_si512(bytes + 64, b);
  for (int i = 0; i < 64; i++) any_low |= bytes[i], any_high |= bytes[64 + i];
  return any_low | u32(any_high) << 8;
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
    if (i < n) count += size_t(__builtin_popcountll(_mm512_mask_cmpeq_epi8_mask((__mmask64(1) << (n - i)) - 1,
                                                                                _mm512_maskz_loadu_epi8((__mmask64(1) << (n - i)) - 1, context + i), wanted)));
    counts[k] = count;
  }
#else
  // four counters per context: a run of one context would wait for its own
  size_t count[4][256] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t p = 0; p < 4; p++) count[p][context[i + p]]++;
  for (; i < n; i++) count[0][context[i]]++;
  for (int k = 0; k < contexts; k++) counts[k] = count[0][k] + count[1][k] + count[2][k] + count[3][k];
#endif
}

// Where each context's codes start in each quarter of a class: the scalar ways walk through four parts at once.
struct Quarters {
  size_t length;
  size_t next[4][256];
  Quarters(const u8* context, size_t n, size_t pitch) : length(n / 4) {
    size_t count[4][256] = {};
    for (size_t i = 0; i < length; i++)
      for (size_t p = 0; p < 4; p++) count[p][context[p * length + i]]++;
    for (size_t i = 4 * length; i < n; i++) count[3][context[i]]++;
    for (size_t k = 0; k < 256; k++) {
      size_t at = k < contexts ? k * pitch : contexts * pitch;  // what has no context goes behind the last queue
      for (size_t p = 0; p < 4; p++) {
        next[p][k] = at;
        if (k < contexts) at += count[p][k];
      }
    }
  }
};

// Stable: queue k, at queues + k * pitch, gets the codes of context k, counts[k] of them.
void sort_codes(const u8* code, const u8* context, size_t n, u8* queues, size_t pitch, size_t* counts) {
#if defined(STZ_512)
  const u32 present = occurring(context, n);
  u8* queue[contexts];
  int number[contexts], used = 0;
  for (u32 rest = present; rest; rest &= rest - 1) {
    number[used] = __builtin_ctz(rest);
    queue[used] = queues + size_t(number[used]) * pitch;
    used++;
  }
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i), z = _mm512_maskz_loadu_epi8(on, code + i);
    for (int k = 0; k < used; k++) {
      const __mmask64 m = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(char(number[k])));
      _mm512_storeu_si512(queue[k], _mm512_maskz_compress_epi8(m, z));
      queue[k] += __builtin_popcountll(m);
    }
  }
  for (int k = 0; k < contexts; k++) counts[k] = 0;
  for (int k = 0; k < used; k++) counts[number[k]] = size_t(queue[k] - (queues + size_t(number[k]) * pitch));
#else
  Quarters q(context, n, pitch);
  for (size_t i = 0; i < q.length; i++)
    for (size_t p = 0; p < 4; p++) {
      const u8 k = context[p * q.length + i];
      queues[q.next[p][k]] = code[p * q.length + i];
      q.next[p][k] += k < contexts;
    }
  for (size_t i = 4 * q.length; i < n; i++) {
    queues[q.next[3][context[i]]] = code[i];
    q.next[3][context[i]] += context[i] < contexts;
  }
  for (size_t k = 0; k < contexts; k++) counts[k] = q.next[3][k] - k * pitch;
#endif
}

// The reverse; codes without a context become 0.
void place_codes(const u8* queues, size_t pitch, const u8* context, size_t n, u8* code) {
#if defined(STZ_512)
  const u32 present = occurring(context, n);
  const u8* queue[contexts];
  int number[contexts], used = 0;
  for (u32 rest = present; rest; rest &= rest - 1) {
    number[used] = __builtin_ctz(rest);
    queue[used] = queues + size_t(number[used]) * pitch;
    used++;
  }
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i c = _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), on, context + i);
    __m512i z = _mm512_setzero_si512();
    for (int k = 0; k < used; k++) {
      const __mmask64 m = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(char(number[k])));
      z = _mm512_mask_expand_epi8(z, m, _mm512_loadu_si512(queue[k]));
      queue[k] += __builtin_popcountll(m);
    }
    _mm512_mask_storeu_epi8(code + i, on, z);
  }
#else
  Quarters q(context, n, pitch);
  auto take = [&](size_t p, size_t i) {
    const u8 k = context[i];
    code[i] = k < contexts ? queues[q.next[p][k]] : u8(0);
    q.next[p][k] += k < contexts;
  };
  for (size_t i = 0; i < q.length; i++)
    for (size_t p = 0; p < 4; p++) take(p, p * q.length + i);
  for (size_t i = 4 * q.length; i < n; i++) take(3, i);
#endif
}

// ---------------------------------------------------------------- symbols and raw bits

u8 largest_byte(const u8* code, size_t n) {
  u8 largest = 0;
  for (size_t i = 0; i < n; i++) largest = code[i] > largest ? code[i] : largest;
  return largest;
}

size_t find_bytes(const u8* code, size_t n, u8 least, u32* index) {
  size_t found = 0;
#if defined(STZ_512)
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 on = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    u64 m = _mm512_mask_cmpge_epu8_mask(on, _mm512_maskz_loadu_epi8(on, code + i), _mm512_set1_epi8(char(least)));
    for (; m; m &= m - 1) index[found++] = u32(i) + u32(__builtin_ctzll(m));
  }
#else
  for (size_t i = 0; i < n; i++) {
    index[found] = u32(i);
    found += code[i] >= least;
  }
#endif
  return found;
}

void shift_bytes(u8* code, size_t n, int shift) {
  for (size_t i = 0; i < n; i++) code[i] = u8(code[i] >> shift);
}

// The low `shift` bits of eight codes at a time, the first one lowest, one word for each eight; `code` may be read to a multiple of eight.
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
    v = ((v << shift) & ~mask) | _pdep_u64(in[w], mask);  // symbols are small: nothing reaches the next byte
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
