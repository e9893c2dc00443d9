// Converts integers in memory, of up to 32 bits, to samples and back. Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

// An integer at any alignment. (Clang's templates lose these attributes on types that are not structs.)
template <class Int>
struct __attribute__((packed, may_alias)) Anywhere {
  Int value;
};

// Calls f with an integer of the type.
template <class F>
STZ_INLINE void with_integers(int bytes, bool is_signed, F f) {
  if (bytes == 1)
    is_signed ? f(int8_t()) : f(u8());
  else if (bytes == 2)
    is_signed ? f(i16()) : f(u16());
  else
    is_signed ? f(i32()) : f(u32());
}

template <class T>
void load_integers(const void* elements, int bytes, bool is_signed, size_t n, T* __restrict samples) {
  with_integers(
      bytes, is_signed, [&](auto type) __attribute__((always_inline)) {
        const auto* __restrict from = static_cast<const Anywhere<decltype(type)>*>(elements);
        for (size_t i = 0; i < n; i++) samples[i] = T(from[i].value);
      });
}

// Rounds one part to the nearest integers, in the low bits of codes. Numbers must be below 2^22 or 2^51 in magnitude after clipping to
// [low, high].
template <class T>
STZ_INLINE void round_part(const T* samples, size_t n, T low, T high, CodeOf<T>* out) {
  for (size_t i = 0; i < n; i += size_t(lanes_of<T>)) {
    Vector<T> v = load<T>(samples + i);
    v = (v == v) ? v : Vector<T>{};
    v = (v > low) ? v : Vector<T>{} + low;
    v = (v < high) ? v : Vector<T>{} + high;
    store<T>(reinterpret_cast<T*>(out) + i, v + magic<T>);
  }
}

template <class T>
void store_integers(const T* samples, size_t n, int bytes, bool is_signed, void* elements) {
  with_integers(  // the low bits of signed and unsigned integers are made alike
      bytes, true, [&](auto type) __attribute__((always_inline)) {
        using Int = decltype(type);
        using R = std::conditional_t<sizeof(T) == 4 && sizeof(Int) < 4, float, double>;  // float suffices for integers of up to 22 bits
        constexpr R most = R(~std::make_unsigned_t<CodeOf<R>>(0) >> (8 * (sizeof(R) - sizeof(Int))));
        const R low = is_signed ? -(most + 1) / 2 : 0, high = low + most;
        constexpr size_t part = 256;
        alignas(64) R v[part];
        alignas(64) CodeOf<R> rounded[part];
        for (size_t i = 0; i < n; i += part) {
          const size_t count = n - i < part ? n - i : part;
          for (size_t k = 0; k < count; k++) v[k] = R(samples[i + k]);
          for (size_t k = count; k % size_t(lanes_of<R>); k++) v[k] = 0;
          round_part<R>(v, count, low, high, rounded);
          auto* const to = static_cast<Anywhere<Int>*>(elements) + i;
          for (size_t k = 0; k < count; k++) to[k].value = Int(rounded[k]);
        }
      });
}

}  // namespace
}  // namespace stz
