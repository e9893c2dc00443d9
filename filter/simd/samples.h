// From predictions and small codes to samples, for each kind of quantizer (coding/quantize.h). Included by kernels.cpp only.
#pragma once
#include "simd/short_vectors.h"

namespace stz {
namespace {

template <class T>
struct UniformSamples {
  explicit UniformSamples(const ClassTask<T>& task) : step(task.quantizer.step) {}
  STZ_INLINE Vector<T> operator()(Vector<T> p, Vector<CodeOf<T>> code, int) const { return p + real_of<T>(code) * step; }

 private:
  const T step;
};

// k' = rint(p) + code * step. All sums and products are exact if p is below the limit of rounding.
template <class T>
struct IntegerSamples {
  explicit IntegerSamples(const ClassTask<T>& task) : numbers(*task.numbers), step(task.numbers->step) {}
  // `left`: samples left in the row; what is behind them does not matter.
  STZ_INLINE Vector<T> operator()(Vector<T> p, Vector<CodeOf<T>> code, int left) const {
    constexpr T largest = magic<T> / 3 - 1;  // 2^22 or 2^51 is too large
    Vector<T> sample = ((p + magic<T>)-magic<T>)+real_of<T>(code) * step;
    const u32 good = at_most<T>(absolute<T>(p), largest);
    if (__builtin_expect(good != all_lanes<T>, 0)) sample = exactly(p, code, good, left, sample);
    return sample;
  }

 private:
  __attribute__((noinline)) Vector<T> exactly(Vector<T> p, Vector<CodeOf<T>> code, u32 good, int left, Vector<T> sample) const {
    for (int i = 0; i < lanes_of<T> && i < left; i++)
      if (!(good >> i & 1)) sample[i] = numbers.reconstruct(numbers.quantizer, p[i], int(code[i]));
    return sample;
  }
  const NumberSteps<T>& numbers;
  const T step;
};

// The same with indices in ULP space; 0 for NaN. 64-bit arithmetic shifts are missing in some instruction sets, so they are not used.
template <class T>
struct UlpSamples {
  explicit UlpSamples(const ClassTask<T>& task) : step(Word(task.numbers->ulp_step)), zero_bits(task.numbers->zero_bits) {}
  STZ_INLINE Vector<T> operator()(Vector<T> p, Vector<CodeOf<T>> code, int) const {
    const Words number = (Words)p, index = (number ^ (sign(number) >> 1)) & (Words)(p == p), below_0 = sign(index);
    Words change = (Words)code;
    if (step != 1) change *= step;
    const Words place = (((index ^ below_0) >> zero_bits) ^ below_0) + change, shifted = place << zero_bits;
    const Words found = shifted | (sign(shifted) & ((Word(1) << zero_bits) - 1));
    return (Vector<T>)(found ^ (sign(found) >> 1));
  }

 private:
  using Word = std::make_unsigned_t<CodeOf<T>>;
  using Words = Vector<Word>;
  STZ_INLINE static Words sign(Words v) { return Words{} - (v >> (8 * int(sizeof(T)) - 1)); }  // all ones if the sign bit is set
  const Word step;
  const int zero_bits;
};

}  // namespace
}  // namespace stz
