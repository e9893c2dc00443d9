// Vectors of 16-bit integers and of bytes, for residual feedback. Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

using Shorts = Vector<i16>;
using Bytes = Vector<u8>;
constexpr int short_lanes = lanes_of<i16>;

STZ_INLINE Shorts load_shorts(const i16* p) { return *(const VectorOf<i16>::loose*)p; }
STZ_INLINE void store_shorts(i16* p, Shorts v) { *(VectorOf<i16>::loose*)p = v; }
STZ_INLINE Bytes load_raw_bytes(const u8* p) { return *(const VectorOf<u8>::loose*)p; }
STZ_INLINE void store_raw_bytes(u8* p, Bytes v) { *(VectorOf<u8>::loose*)p = v; }
// Stores the first `count` bytes, or all if there are fewer.
STZ_INLINE void store_first_bytes(u8* p, Bytes v, int count) {
  if (count >= vector_bytes) return store_raw_bytes(p, v);
#if defined(STZ_512)
  _mm512_mask_storeu_epi8(p, (u64(1) << count) - 1, (__m512i)v);
#else
  __builtin_memcpy(p, &v, size_t(count));
#endif
}

STZ_INLINE Shorts all_shorts(i16 v) { return Shorts{} + v; }

// Saturating addition.
STZ_INLINE Shorts add_saturated(Shorts a, Shorts b) {
#if defined(STZ_512)
  return (Shorts)_mm512_adds_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Shorts)_mm256_adds_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Shorts)_mm_adds_epi16((__m128i)a, (__m128i)b);
#else
  Shorts sum;
  for (int i = 0; i < short_lanes; i++) sum[i] = i16(int(a[i]) + b[i] > 32767 ? 32767 : int(a[i]) + b[i] < -32768 ? -32768 : a[i] + b[i]);
  return sum;
#endif
}

// Clips to [-most, most].
STZ_INLINE Shorts clamped(Shorts v, i16 most) {
  const Shorts high = all_shorts(most), low = all_shorts(i16(-most));
#if defined(STZ_512)
  return (Shorts)_mm512_max_epi16(_mm512_min_epi16((__m512i)v, (__m512i)high), (__m512i)low);
#elif defined(__AVX2__)
  return (Shorts)_mm256_max_epi16(_mm256_min_epi16((__m256i)v, (__m256i)high), (__m256i)low);
#elif defined(__SSE2__)
  return (Shorts)_mm_max_epi16(_mm_min_epi16((__m128i)v, (__m128i)high), (__m128i)low);
#else
  v = v > high ? high : v;
  return v < low ? low : v;
#endif
}

// (a * weight + 64) >> 7. `weight256`: 256 times the weight, which is -127 to 127.
STZ_INLINE Shorts weighted(Shorts a, Shorts weight256) {
#if defined(STZ_512)
  return (Shorts)_mm512_mulhrs_epi16((__m512i)a, (__m512i)weight256);
#elif defined(__AVX2__)
  return (Shorts)_mm256_mulhrs_epi16((__m256i)a, (__m256i)weight256);
#elif defined(__SSE2__)
  const __m128i w = (__m128i)weight256, high = _mm_mulhi_epi16((__m128i)a, w), low = _mm_mullo_epi16((__m128i)a, w);
  const __m128i rounded = _mm_and_si128(_mm_srli_epi16(low, 14), _mm_set1_epi16(1));
  return (Shorts)_mm_add_epi16(_mm_or_si128(_mm_slli_epi16(high, 1), _mm_srli_epi16(low, 15)), rounded);
#else
  Shorts product;
  for (int i = 0; i < short_lanes; i++) product[i] = i16((int(a[i]) * weight256[i] + (1 << 14)) >> 15);
  return product;
#endif
}

// Lanes 1, 2, ... of `here`, then lane 0 of `next`.
template <int... i>
STZ_INLINE Shorts one_lane_on(Shorts here, Shorts next, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Shorts, here, next, (i + 1)...);
}
STZ_INLINE Shorts one_lane_on(Shorts here, Shorts next) { return one_lane_on(here, next, Lanes<short_lanes>{}); }

// Sets the lanes from `count` on to 0.
template <int... i>
STZ_INLINE Shorts first_shorts(Shorts v, int count, std::integer_sequence<int, i...>) {
  return v & (Shorts{i16(i)...} < i16(count));
}
STZ_INLINE Shorts first_shorts(Shorts v, int count) { return count >= short_lanes ? v : first_shorts(v, count, Lanes<short_lanes>{}); }

// Bytes at even and odd places as signed numbers. join_bytes is the inverse and uses the low bytes.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
STZ_INLINE Shorts even_bytes(Bytes v) { return (Shorts)v << 8 >> 8; }
STZ_INLINE Shorts odd_bytes(Bytes v) { return (Shorts)v >> 8; }
STZ_INLINE Bytes join_bytes(Shorts even, Shorts odd) { return (Bytes)((even & i16(255)) | odd << 8); }
#else
STZ_INLINE Shorts even_bytes(Bytes v) { return (Shorts)v >> 8; }
STZ_INLINE Shorts odd_bytes(Bytes v) { return (Shorts)v << 8 >> 8; }
STZ_INLINE Bytes join_bytes(Shorts even, Shorts odd) { return (Bytes)((odd & i16(255)) | even << 8); }
#endif

// Interleaves lanes of both vectors, from lane `first` of each.
template <int first, int... i>
STZ_INLINE Shorts interleave_shorts(Shorts a, Shorts b, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Shorts, a, b, (first + i / 2 + i % 2 * short_lanes)...);
}

// Codes as signed bytes, from zig-zag bytes. Escapes become 0.
STZ_INLINE Bytes codes_of_zigzag(Bytes z) { return ((z >> 1) ^ -(z & u8(1))) & (Bytes)(z != byte_escape); }

// Loads shorts or signed bytes, one per lane, as integers.
template <class Int>
STZ_INLINE Vector<Int> load_integers_of(const i16* p) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i*)p));
  else
    return (Vector<Int>)_mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i*)p));
#elif defined(__AVX2__)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)p));
  else
    return (Vector<Int>)_mm256_cvtepi16_epi64(_mm_loadl_epi64((const __m128i*)p));
#elif defined(__SSE2__)
  if constexpr (sizeof(Int) == 4) {
    const __m128i v = _mm_loadl_epi64((const __m128i*)p);
    return (Vector<Int>)_mm_srai_epi32(_mm_unpacklo_epi16(v, v), 16);
  } else
    return Vector<Int>{p[0], p[1]};
#else
  Vector<Int> v;
  for (int i = 0; i < lanes_of<Int>; i++) v[i] = p[i];
  return v;
#endif
}
template <class Int>
STZ_INLINE Vector<Int> load_integers_of(const i8* p) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p));
  else
    return (Vector<Int>)_mm512_cvtepi8_epi64(_mm_loadl_epi64((const __m128i*)p));
#elif defined(__AVX2__)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p));
  else
    return (Vector<Int>)_mm256_cvtepi8_epi64(_mm_loadu_si32(p));
#else
  Vector<Int> v;
  for (int i = 0; i < lanes_of<Int>; i++) v[i] = p[i];
  return v;
#endif
}
// Stores the low 16 bits of the lanes contiguously.
template <class Int>
STZ_INLINE void store_low_shorts(i16* p, Vector<Int> v) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16((__m512i)v));
  else
    _mm_storeu_si128((__m128i*)p, _mm512_cvtepi64_epi16((__m512i)v));
#elif defined(__AVX2__)
  const __m256i pick = sizeof(Int) == 4 ? _mm256_set1_epi64x(0x0d0c090805040100) : _mm256_set1_epi32(0x09080100);
  const __m256i shorts = _mm256_shuffle_epi8((__m256i)v, pick);
  const u64 low = u64(_mm256_extract_epi64(shorts, 0)), high = u64(_mm256_extract_epi64(shorts, 2));
  if constexpr (sizeof(Int) == 4) {
    __builtin_memcpy(p, &low, 8);
    __builtin_memcpy(p + 4, &high, 8);
  } else {
    const u64 both = (low & 0xffffffff) | high << 32;
    __builtin_memcpy(p, &both, 8);
  }
#else
  for (int i = 0; i < lanes_of<Int>; i++) p[i] = i16(v[i]);
#endif
}
// Joins the lanes of several vectors as shorts. Lanes that do not fit in 16 bits become unspecified.
template <class Int>
STZ_INLINE Shorts join_shorts(const Vector<Int>* parts) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    return (Shorts)_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16((__m512i)parts[0])),
                                      _mm512_cvtepi32_epi16((__m512i)parts[1]), 1);
#elif defined(__AVX2__)
  if constexpr (sizeof(Int) == 4) return (Shorts)_mm256_permute4x64_epi64(_mm256_packs_epi32((__m256i)parts[0], (__m256i)parts[1]), 0xd8);
#elif defined(__SSE2__)
  if constexpr (sizeof(Int) == 4) return (Shorts)_mm_packs_epi32((__m128i)parts[0], (__m128i)parts[1]);
#endif
  i16 joined[short_lanes];
  for (int k = 0; k < short_lanes / lanes_of<Int>; k++) store_low_shorts<Int>(joined + k * lanes_of<Int>, parts[k]);
  return load_shorts(joined);
}
// Converts integers of up to 16 bits to real numbers, exactly.
template <class T>
STZ_INLINE Vector<T> real_of(Vector<CodeOf<T>> v) {
  if constexpr (sizeof(T) == 4)
    return __builtin_convertvector(v, Vector<T>);
  else  // few machines have an instruction for this
    return (Vector<T>)(v + bits(magic<T>)) - magic<T>;
}

}  // namespace
}  // namespace stz
