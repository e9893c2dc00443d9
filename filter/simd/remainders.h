// Puts remainders into numbers (format/remainders.h). Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

// Up to 57 bits from bit `at` on, behind the end zeros.
STZ_INLINE u64 bits_at(const u8* bits, u64 size, u64 at) {
  const u64 byte = at / 8;
  u64 word = 0;
  if (byte + 8 <= size) {
    __builtin_memcpy(&word, bits + byte, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
  } else {
    for (u64 k = byte; k < size; k++) word |= u64(bits[k]) << (8 * (k - byte));
  }
  return word >> at % 8;
}

// The nearest multiple of the step.
template <class U>
STZ_INLINE U multiple_near(U bits, const RemainderForm& f) {
  using T = std::conditional_t<sizeof(U) == 4, float, double>;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  const bool keep = (u64(bits) >> f.mantissa & f.all_ones) == f.all_ones || (f.has_fill && bits == f.fill);
  if (keep) return bits;
  return __builtin_bit_cast(U, T((double(__builtin_bit_cast(T, bits)) * f.inverse + magic - magic) * f.step));
}

template <class U>
u64 put_one_by_one(const u8* bits, u64 size, u64 at, U* x, size_t n, const RemainderForm& f, u32* small, size_t* smalls) {
  const u64 exponent_of_step = f.exponent_of_step, all_ones = f.all_ones;
  const int mantissa = f.mantissa, zero_bits = f.zero_bits;
  for (size_t i = 0; i < n; i++) {
    const U multiple = multiple_near(x[i], f);
    x[i] = multiple;
    const u64 exponent = u64(multiple) >> mantissa & all_ones;
    if (exponent == all_ones || (f.has_fill && multiple == f.fill)) continue;
    if (exponent < exponent_of_step) {
      small[(*smalls)++] = u32(i);
      continue;
    }
    const i64 width = i64(mantissa - zero_bits) - i64(exponent - exponent_of_step);
    if (width <= 0) continue;
    x[i] = U(multiple | (bits_at(bits, size, at) & ((u64(1) << width) - 1)) << zero_bits);
    at += u64(width);
  }
  return at;
}

#if defined(__AVX2__)
// Eight numbers at a time. With floats, x / S rounds to an integer as it does with doubles where it is below 2^23, and is one elsewhere.
struct EightRemainders {
  explicit EightRemainders(const RemainderForm& f)
      : inverse(_mm256_set1_ps(float(f.inverse))),
        step(_mm256_set1_ps(float(f.step))),
        least(_mm256_set1_epi32(int(f.exponent_of_step))),
        integers(_mm256_set1_epi32(f.exponent_of_step + 22 < 254 ? int(f.exponent_of_step) + 22 : 254)),
        widest(_mm256_set1_epi32(23 - f.zero_bits + int(f.exponent_of_step))),
        fill(_mm256_set1_epi32(int(f.fill))),
        has_fill(_mm256_set1_epi32(-int(f.has_fill))),
        zero_bits(_mm_cvtsi32_si128(f.zero_bits)) {}

  static constexpr u64 reach = 32;  // bytes from the one with bit `at` on that are read
  // Returns the numbers. `small`: gets a bit for each number that is small.
  STZ_INLINE __m256i add(__m256i x, const u8* bits, u64& at, u32& small) const {
    const __m256i ones = _mm256_set1_epi32(-1), special = _mm256_set1_epi32(255), zero = _mm256_setzero_si256();
    __m256i keep = _mm256_or_si256(_mm256_cmpgt_epi32(exponent(x), integers), _mm256_and_si256(has_fill, _mm256_cmpeq_epi32(x, fill)));
    const __m256 near = _mm256_round_ps(_mm256_mul_ps((__m256)x, inverse), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 multiple = _mm256_mul_ps(_mm256_add_ps(near, _mm256_setzero_ps()), step);  // the sum turns -0 into 0
    x = (__m256i)_mm256_blendv_ps(multiple, (__m256)x, (__m256)keep);
    const __m256i e = exponent(x);
    const __m256i without = _mm256_or_si256(_mm256_cmpeq_epi32(e, special), _mm256_and_si256(has_fill, _mm256_cmpeq_epi32(x, fill)));
    const __m256i below = _mm256_cmpgt_epi32(least, e);
    small = u32(_mm256_movemask_ps((__m256)_mm256_andnot_si256(without, below)));
    const __m256i width = _mm256_andnot_si256(_mm256_or_si256(without, below), _mm256_max_epi32(zero, _mm256_sub_epi32(widest, e)));
    __m256i sum = _mm256_add_epi32(width, _mm256_slli_si256(width, 4));  // of each half
    sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
    const u64 second = at + u32(_mm256_extract_epi32(sum, 3)), end = second + u32(_mm256_extract_epi32(sum, 7));
    const __m256i start = _mm256_inserti128_si256(_mm256_set1_epi32(int(at % 8)), _mm_set1_epi32(int(second % 8)), 1);
    const __m256i from = _mm256_add_epi32(_mm256_sub_epi32(sum, width), start);
    const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(bits + at / 8))),
                                                  _mm_loadu_si128((const __m128i*)(bits + second / 8)), 1);
    const __m256i lowest =
        _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    const __m256i place = _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_srli_epi32(from, 3), lowest), _mm256_set1_epi32(0x03020100));
    const __m256i word = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, place), _mm256_and_si256(from, _mm256_set1_epi32(7)));
    at = end;
    return _mm256_or_si256(x, _mm256_sll_epi32(_mm256_andnot_si256(_mm256_sllv_epi32(ones, width), word), zero_bits));
  }

 private:
  STZ_INLINE static __m256i exponent(__m256i x) { return _mm256_and_si256(_mm256_srli_epi32(x, 23), _mm256_set1_epi32(255)); }
  const __m256 inverse, step;
  const __m256i least, integers, widest, fill, has_fill;
  const __m128i zero_bits;
};

STZ_INLINE void put_places(u32 small, u32 first, u32* places, size_t* count) {
  for (; small; small &= small - 1) places[(*count)++] = first + u32(__builtin_ctz(small));
}
#endif

template <class U>
u64 put_remainders(const u8* bits, u64 size, u64 at, U* x, size_t n, const RemainderForm& form, u32* small, size_t* smalls) {
  *smalls = 0;
  size_t i = 0;
#if defined(__AVX2__)
  if constexpr (sizeof(U) == 4) {
    const EightRemainders eight(form);
    u32 found = 0;
    for (; i + 8 <= n && at / 8 + eight.reach <= size; i += 8) {
      _mm256_storeu_si256((__m256i*)(x + i), eight.add(_mm256_loadu_si256((const __m256i*)(x + i)), bits, at, found));
      put_places(found, u32(i), small, smalls);
    }
    if (i + 8 > n && i < n && at / 8 + eight.reach <= size) {  // the rest, and infinities
      alignas(32) U rest[8];
      _mm256_store_si256((__m256i*)rest, _mm256_set1_epi32(0x7f800000));
      __builtin_memcpy(rest, x + i, (n - i) * sizeof(U));
      _mm256_store_si256((__m256i*)rest, eight.add(_mm256_load_si256((const __m256i*)rest), bits, at, found));
      __builtin_memcpy(x + i, rest, (n - i) * sizeof(U));
      put_places(found, u32(i), small, smalls);
      return at;
    }
  }
#endif
  const size_t before = *smalls;
  at = put_one_by_one(bits, size, at, x + i, n - i, form, small, smalls);
  for (size_t k = before; k < *smalls; k++) small[k] += u32(i);
  return at;
}

}  // namespace
}  // namespace stz
