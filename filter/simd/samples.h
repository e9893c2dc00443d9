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
  explicit IntegerSamples(const ClassTask<T>& task) : steps(*task.integers), step(task.integers->step) {}
  // `left`: samples left in the row; what is behind them does not matter.
  STZ_INLINE Vector<T> operator()(Vector<T> p, Vector<CodeOf<T>> code, int left) const {
    constexpr T largest = rounding_limit<T> - T(0.25);  // of the numbers below it
    Vector<T> sample = ((p + magic<T>)-magic<T>)+real_of<T>(code) * step;
    const u32 good = at_most<T>(absolute<T>(p), largest);
    if (__builtin_expect(good != all_lanes<T>, 0)) sample = exactly(p, code, good, left, sample);
    return sample;
  }

 private:
  __attribute__((noinline)) Vector<T> exactly(Vector<T> p, Vector<CodeOf<T>> code, u32 good, int left, Vector<T> sample) const {
    for (int i = 0; i < lanes_of<T> && i < left; i++)
      if (!(good >> i & 1)) sample[i] = steps.reconstruct(steps.quantizer, p[i], int(code[i]));
    return sample;
  }
  const IntegerSteps<T>& steps;
  const T step;
};

}  // namespace
}  // namespace stz
