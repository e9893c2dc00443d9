// Converts rows of integers and ULP-space numbers to codes (quantization indices) and back, and codes of 32 or 64 bits to symbols and low
// bits and back. Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

// ---------------------------------------------------------------- integers

// With the limits below, all integer sums and products are exact.
// The rounded quotient is right: d is at most half of rounding_limit, so d / step has an error below d / (rounding_limit * step). Since the
// step is odd, it is at least 1 / (2 * step) away from a tie.
template <class T>
bool quantize_integers(const T* __restrict x, const T* __restrict p, int n, T step, CodeOf<T>* __restrict code,
                       T* __restrict reconstructed) {
  using Code = CodeOf<T>;
  using Word = std::make_unsigned_t<Code>;  // out-of-range values may wrap around; their codes are not used
  const T inverse = T(1) / step;
  Code bad = 0;
  for (int i = 0; i < n; i++) {
    const T rounded = (p[i] + magic<T>)-magic<T>, d = x[i] - rounded, u = d * inverse + magic<T>;
    const T size = __builtin_fabs(p[i]), distance = __builtin_fabs(d);
    bad |= Code(!(size < rounding_limit<T>)) | Code(!(distance <= rounding_limit<T> / 2));
    code[i] = Code(Word(bits(u)) - Word(bits(magic<T>)));
    reconstructed[i] = rounded + (u - magic<T>)*step;
  }
  return !bad;
}

template <class T>
bool dequantize_integers(const CodeOf<T>* __restrict code, const T* __restrict p, int n, T step, T* __restrict reconstructed) {
  using Code = CodeOf<T>;
  Code bad = 0;
  for (int i = 0; i < n; i++) {
    const T rounded = (p[i] + magic<T>)-magic<T>, multiple = (value<T>(code[i] + bits(magic<T>)) - magic<T>)*step;
    const T size = __builtin_fabs(p[i]), distance = __builtin_fabs(multiple);
    bad |= Code(!(size < rounding_limit<T>)) | Code(!(distance <= 2 * rounding_limit<T>));
    reconstructed[i] = rounded + multiple;
  }
  return !bad;
}

// ---------------------------------------------------------------- ULP space

// 64-bit arithmetic shifts and comparisons are missing in some instruction sets, so they are not used here.
template <class U>
STZ_INLINE U sign_of(U v) {  // all ones if the sign bit is set
  return U(0) - (v >> (8 * sizeof(U) - 1));
}
template <class U>
STZ_INLINE U shift_right(U v, int by) {  // arithmetic shift
  const U sign = sign_of(v);
  return ((v ^ sign) >> by) ^ sign;
}
// Converts the bits of a number to its index in ULP space, and back: it is its own inverse.
template <class U>
STZ_INLINE U ordered(U v) {
  return v ^ (sign_of(v) >> 1);
}
// The ULP index of a prediction without the low bits; 0 for NaN.
template <class T, class U>
STZ_INLINE U predicted_place(T p, int zero_bits) {
  const U place = ordered(U(bits(p)));
  return shift_right(p == p ? place : U(0), zero_bits);
}
// The bits of the number with this index.
template <class U>
STZ_INLINE U number_at(U place, int zero_bits) {
  const U index = U(place << zero_bits);
  return ordered(U(index | (sign_of(index) & ((U(1) << zero_bits) - 1))));
}

template <class T>
bool quantize_ulps(const T* __restrict x, const T* __restrict p, int n, int zero_bits, CodeOf<T>* __restrict code,
                   T* __restrict reconstructed) {
  using Code = CodeOf<T>;
  using U = std::make_unsigned_t<Code>;
  constexpr int width = sizeof(T) == 4 ? 31 : 61;  // bits of the largest code that fits
  U bad = 0;
  for (int i = 0; i < n; i++) {
    const U number = U(bits(x[i])), place = shift_right(ordered(number), zero_bits);
    const U c = place - predicted_place<T, U>(p[i], zero_bits), size = (c ^ sign_of(c)) - sign_of(c);
    const U outlier = (size + 1) >> width | (number ^ number_at(place, zero_bits));
    bad |= outlier;
    const U marked = sign_of(outlier | (U(0) - outlier));
    code[i] = Code((c & ~marked) | (marked & U(1) << (8 * sizeof(U) - 1)));
    reconstructed[i] = x[i];
  }
  return !bad;
}

template <bool unit, class T>
STZ_INLINE void dequantize_ulps(const CodeOf<T>* __restrict code, const T* __restrict p, int n, u64 step, int zero_bits,
                                T* __restrict reconstructed) {
  using U = std::make_unsigned_t<CodeOf<T>>;
  for (int i = 0; i < n; i++) {
    const U c = U(code[i]), place = predicted_place<T, U>(p[i], zero_bits) + (unit ? c : U(c * U(step)));
    reconstructed[i] = value<T>(CodeOf<T>(number_at(place, zero_bits)));
  }
}
template <class T>
void dequantize_ulps(const CodeOf<T>* code, const T* p, int n, u64 step, int zero_bits, T* reconstructed) {
  if (step == 1)
    dequantize_ulps<true>(code, p, n, step, zero_bits, reconstructed);
  else
    dequantize_ulps<false>(code, p, n, step, zero_bits, reconstructed);
}

// ---------------------------------------------------------------- symbols and low bits

template <class Code>
void split(const Code* __restrict code, size_t n, int shift, u8* __restrict symbols, std::make_unsigned_t<Code>* __restrict low) {
  using U = std::make_unsigned_t<Code>;
  constexpr int width = 8 * int(sizeof(Code));
  const U mask = U((U(1) << shift) - 1);
  for (size_t i = 0; i < n; i++) {
    const U c = U(code[i]), z = U(c << 1) ^ U(0 - (c >> (width - 1))), v = z >> shift;
    symbols[i] = u8(v < 255 ? v : U(255));
    low[i] = c == U(1) << (width - 1) ? U(0) : U(z & mask);
  }
}

template <class Code>
void join(const u8* __restrict symbols, const std::make_unsigned_t<Code>* __restrict low, size_t n, int shift, Code* __restrict code) {
  using U = std::make_unsigned_t<Code>;
  for (size_t i = 0; i < n; i++) {
    const U z = U(U(symbols[i]) << shift) | low[i];
    code[i] = Code((z >> 1) ^ U(0 - (z & 1)));
  }
}

}  // namespace
}  // namespace stz
