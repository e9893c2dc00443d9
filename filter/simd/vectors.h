// Vectors of the instruction set's width, and operations on them that compilers do not generate well by themselves. Included by kernels.cpp
// only. Nothing may depend on the width: a lane computes the same in every variant.
#pragma once
#include <type_traits>
#include <utility>

#include "simd/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__AVX512VBMI2__) && defined(__AVX512VBMI__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define STZ_512 1
#endif
#define STZ_INLINE inline __attribute__((always_inline))
// STZ_SHUFFLE(mask, a, b, i...): lanes i of the concatenation of `a` and `b`. `mask`: a vector type of integers as wide as the lanes. Clang
// and GCC 12 have __builtin_shufflevector; GCC 11 has only __builtin_shuffle, which Clang lacks.
#if __has_builtin(__builtin_shufflevector)
#define STZ_SHUFFLE(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define STZ_SHUFFLE(mask, a, b, ...) __builtin_shuffle(a, b, mask{__VA_ARGS__})
#endif

namespace stz {
namespace {

// GCC 12 lowers vectors wider than the machine's to scalar code.
#if defined(STZ_512)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
  typedef T loose __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int lanes_of = vector_bytes / int(sizeof(T));

template <class S>
STZ_INLINE Vector<RealOf<S>> load(const S* p) {
  using R = RealOf<S>;
  if constexpr (sizeof(S) == sizeof(R) && std::is_floating_point_v<S>)
    return *(const typename VectorOf<S>::loose*)p;
  else {
    Vector<R> v;
    for (unsigned i = 0; i < vector_bytes / sizeof(R); i++) v[i] = R(p[i]);
    return v;
  }
}
template <class T>
STZ_INLINE void store(T* p, Vector<T> v) {
  *(typename VectorOf<T>::loose*)p = v;
}

template <int lanes>
using Lanes = std::make_integer_sequence<int, lanes>;
// Interleaves the lanes of both vectors, starting at lane `first` of each: a[first], b[first], a[first + 1], ...
template <int first, class T, int... i>
STZ_INLINE Vector<T> interleave_lanes(Vector<T> a, Vector<T> b, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Vector<CodeOf<T>>, a, b, (first + i / 2 + i % 2 * lanes_of<T>)...);
}
// Every other lane of both vectors, starting at lane `first` of each: a[first], a[first + 2], ..., b[first], b[first + 2], ...
template <int first, class T, int... i>
STZ_INLINE Vector<T> alternate_lanes(Vector<T> a, Vector<T> b, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Vector<CodeOf<T>>, a, b, (first + 2 * i)...);
}

template <class T>
STZ_INLINE Vector<T> absolute(Vector<T> v) {
  using Bits = Vector<CodeOf<T>>;
  return (Vector<T>)((Bits)v & (CodeOf<T>)(~std::make_unsigned_t<CodeOf<T>>(0) >> 1));
}

// Sets lanes closer to 0 than `dead_zone` to 0.
template <class T>
STZ_INLINE Vector<T> outside(Vector<T> v, T dead_zone) {
  return absolute<T>(v) < dead_zone ? Vector<T>{} : v;
}

// Bit i: whether lane i of `v` is at most `limit` (false for NaN).
template <class T>
STZ_INLINE u32 at_most(Vector<T> v, T limit) {
#if defined(STZ_512)
  if constexpr (sizeof(T) == 4)
    return _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(limit), _CMP_LE_OQ);
  else
    return _mm512_cmp_pd_mask((__m512d)v, _mm512_set1_pd(limit), _CMP_LE_OQ);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return u32(_mm256_movemask_ps(_mm256_cmp_ps((__m256)v, _mm256_set1_ps(limit), _CMP_LE_OQ)));
  else
    return u32(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)v, _mm256_set1_pd(limit), _CMP_LE_OQ)));
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == 4)
    return u32(_mm_movemask_ps(_mm_cmple_ps((__m128)v, _mm_set1_ps(limit))));
  else
    return u32(_mm_movemask_pd(_mm_cmple_pd((__m128d)v, _mm_set1_pd(limit))));
#else
  u32 bits = 0;
  for (int i = 0; i < lanes_of<T>; i++) bits |= u32(v[i] <= limit) << i;
  return bits;
#endif
}
template <class T>
constexpr u32 all_lanes = u32((u64(1) << lanes_of<T>)-1);

// Stores the low bytes of the lanes contiguously.
template <class Int>
STZ_INLINE void store_bytes(u8* p, Vector<Int> v) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8((__m512i)v));
  else
    _mm_storel_epi64((__m128i*)p, _mm512_cvtepi64_epi8((__m512i)v));
#elif defined(__AVX2__)
  const __m256i pick = sizeof(Int) == 4 ? _mm256_set1_epi32(0x0c080400) : _mm256_set1_epi16(0x0800);
  const __m256i bytes = _mm256_shuffle_epi8((__m256i)v, pick);
  const u32 low = u32(_mm256_cvtsi256_si32(bytes)), high = u32(_mm256_extract_epi32(bytes, 4));
  if constexpr (sizeof(Int) == 4) {
    const u64 both = low | u64(high) << 32;
    __builtin_memcpy(p, &both, 8);
  } else {
    const u32 both = (low & 0xffff) | high << 16;
    __builtin_memcpy(p, &both, 4);
  }
#else
  for (int i = 0; i < lanes_of<Int>; i++) p[i] = u8(v[i]);
#endif
}
// Loads bytes, one per lane, as integers.
template <class Int>
STZ_INLINE Vector<Int> load_bytes(const u8* p) {
#if defined(STZ_512)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
  else
    return (Vector<Int>)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)p));
#elif defined(__AVX2__)
  if constexpr (sizeof(Int) == 4)
    return (Vector<Int>)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
  else
    return (Vector<Int>)_mm256_cvtepu8_epi64(_mm_loadu_si32(p));
#else
  Vector<Int> v;
  for (int i = 0; i < lanes_of<Int>; i++) v[i] = p[i];
  return v;
#endif
}

// Adding it to a value below a quarter of it rounds to the nearest integer (ties to even), which is then in the low bits.
template <class T>
constexpr T magic = sizeof(T) == 4 ? T(12582912.0) : T(6755399441055744.0);
// 2^22 or 2^51. Numbers below it become the nearest integer when magic<T> is added, ties even ones.
template <class T>
constexpr T rounding_limit = magic<T> / 3;
template <class T>
STZ_INLINE CodeOf<T> bits(T v) {
  CodeOf<T> c;
  __builtin_memcpy(&c, &v, sizeof c);
  return c;
}
template <class T>
STZ_INLINE T value(CodeOf<T> c) {
  T v;
  __builtin_memcpy(&v, &c, sizeof v);
  return v;
}

}  // namespace
}  // namespace stz
