// References for the kernels on rows of integers and of places in the order of numbers, and on elements that are integers. Included by
// reference.cpp only.
#pragma once
#include <cmath>

#include "harness.h"

namespace check {
namespace {

// Predictions must be below it, for 2^22 or 2^51 have a fraction no more that could be cut off like a smaller number's.
template <class T>
const T largest_prediction = sizeof(T) == 4 ? std::ldexp(T(1), 22) : std::ldexp(T(1), 51);

template <class T>
bool quantize_integers(const T* x, const T* p, int n, T step, CodeOf<T>* code, T* reconstructed) {
  const i64 s = i64(step), half = s / 2;
  for (int i = 0; i < n; i++) {
    if (!(std::fabs(p[i]) < largest_prediction<T>)) return false;
    if (!(std::fabs(x[i] - std::nearbyint(p[i])) <= largest_prediction<T> / 2)) return false;
    const i64 predicted = std::llrint(p[i]), difference = i64(x[i]) - predicted;
    const i64 multiple = (difference + (difference < 0 ? -half : half)) / s;
    code[i] = CodeOf<T>(multiple);
    reconstructed[i] = T(predicted + multiple * s);
  }
  return true;
}

template <class T>
bool dequantize_integers(const CodeOf<T>* code, const T* p, int n, T step, T* reconstructed) {
  for (int i = 0; i < n; i++) {
    const __int128 multiple = __int128(code[i]) * i64(step), most = __int128(2 * largest_prediction<T>);
    if (!(std::fabs(p[i]) < largest_prediction<T>) || multiple < -most || multiple > most) return false;
    reconstructed[i] = T(std::llrint(p[i]) + i64(multiple));
  }
  return true;
}

u8* low_bytes(u32& v, int bytes) { return reinterpret_cast<u8*>(&v) + (host_is_little ? 0 : 4 - bytes); }

template <class T>
void load_elements(const void* elements, int bytes, bool is_signed, size_t n, T* samples) {
  for (size_t i = 0; i < n; i++) {
    u32 v = 0;
    memcpy(low_bytes(v, bytes), static_cast<const u8*>(elements) + i * size_t(bytes), size_t(bytes));
    const i64 sign = is_signed ? i64(v >> (8 * bytes - 1)) << (8 * bytes) : 0;
    samples[i] = T(i64(v) - sign);
  }
}

template <class T>
void store_elements(const T* samples, size_t n, int bytes, bool is_signed, void* elements) {
  const double low = is_signed ? -std::ldexp(1.0, 8 * bytes - 1) : 0, high = low + std::ldexp(1.0, 8 * bytes) - 1;
  for (size_t i = 0; i < n; i++) {
    const double v = samples[i] != samples[i] ? 0 : std::clamp(std::nearbyint(double(samples[i])), low, high);
    u32 bits = u32(i64(v));
    memcpy(static_cast<u8*>(elements) + i * size_t(bytes), low_bytes(bits, bytes), size_t(bytes));
  }
}

// Numbers in their order, one apart: from the lowest negative NaN to the highest positive one, in as many steps as there are bits.
template <class T>
i64 place_of(T v) {
  if (v != v) return 0;
  const CodeOf<T> b = bit_cast_to<CodeOf<T>>(v);
  return b >= 0 ? b : CodeOf<T>(std::numeric_limits<CodeOf<T>>::min() - (b + 1));
}
template <class T>
T number_at(CodeOf<T> place) {
  return bit_cast_to<T>(place >= 0 ? place : CodeOf<T>(std::numeric_limits<CodeOf<T>>::min() - (place + 1)));
}

template <class T>
bool quantize_ulps(const T* x, const T* p, int n, int zero_bits, CodeOf<T>* code, T* reconstructed) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  const i64 most = sizeof(T) == 4 ? 0x7ffffffe : (i64(1) << 61) - 2;
  bool all = true;
  for (int i = 0; i < n; i++) {
    const __int128 c = CodeOf<T>(Bits(place_of(x[i]) >> zero_bits) - Bits(place_of(p[i]) >> zero_bits));  // modulo the width
    const bool good = (bit_cast_to<Bits>(x[i]) & ((Bits(1) << zero_bits) - 1)) == 0 && c >= -most && c <= most;
    code[i] = good ? CodeOf<T>(c) : std::numeric_limits<CodeOf<T>>::min();
    reconstructed[i] = x[i];
    all = all && good;
  }
  return all;
}

template <class T>
void dequantize_ulps(const CodeOf<T>* code, const T* p, int n, u64 step, int zero_bits, T* reconstructed) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  for (int i = 0; i < n; i++) {
    const Bits place = Bits(Bits(u64(place_of(p[i]) >> zero_bits) + u64(i64(code[i])) * step) << zero_bits);
    const bool negative = place >> (8 * sizeof(T) - 1);
    reconstructed[i] = number_at<T>(CodeOf<T>(negative ? place | ((Bits(1) << zero_bits) - 1) : place));
  }
}

}  // namespace
}  // namespace check
