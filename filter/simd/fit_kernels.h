// The inner loops of the encoder's fits: collecting samples, costs and weights of residuals, normal equations. Included by kernels.cpp
// only. Sums run in 16 lanes of floats, which are added up in one order whatever the width of a vector.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {
namespace fit {

typedef Vector<float> Floats;
typedef Vector<i32> Ints;
constexpr int run = 16, lanes = lanes_of<float>, parts = run / lanes;

template <class R>
STZ_INLINE void store_floats(float* p, Vector<R> v) {
  if constexpr (sizeof(R) == sizeof(float))
    store<float>(p, v);
  else
    for (int i = 0; i < lanes_of<R>; i++) p[i] = float(v[i]);
}

// 1 / n for the numbers of taps that groups have.
template <class R>
constexpr R one_over(int n) {
  return n == 2 ? R(0.5) : n == 4 ? R(0.25) : n == 8 ? R(0.125) : R(1) / R(n);
}

// Samples are usable where no number is above this: their squares must add up.
constexpr float largest_usable = 0x1.c6bf5p49f;  // the number below 1e15

template <class S>
u32 collect(const S* row, const TapTable& taps, int odd, RealOf<S> inverse_unit, float* m, std::ptrdiff_t pitch, float* y) {
  using R = RealOf<S>;
  typedef Vector<R> V;
  constexpr int wide = lanes_of<R>;
  const R share = R(1) / R(8 * odd);
  for (int at = 0; at < run; at += wide) {
    V mean[max_groups], cubic{};
    const std::ptrdiff_t* o = taps.offset;
    for (int g = 0; g < taps.groups; g++) {
      const int count = taps.taps[g];
      V sum = load<S>(row + at + o[0]), second_sum = load<S>(row + at + o[1]);  // taps come in pairs
      for (int t = 2; t < count; t += 2) {
        sum += load<S>(row + at + o[t]);
        second_sum += load<S>(row + at + o[t + 1]);
      }
      mean[g] = (sum + second_sum) * one_over<R>(count);
      o += count;
    }
    for (int k = 0; k < odd; k++) cubic += mean[k] * R(9) - mean[odd + k];
    cubic *= share;
    store_floats<R>(y + at, (load<S>(row + at) - cubic) * inverse_unit);
    for (int g = 0; g < taps.groups; g++) store_floats<R>(m + g * pitch + at, (mean[g] - cubic) * inverse_unit);
  }
  u32 usable = 0;
  for (int at = 0; at < run; at += lanes) {
    Ints most = (Ints)load<float>(y + at) & 0x7fffffff;
    for (int g = 0; g < taps.groups; g++) {
      Ints size = (Ints)load<float>(m + g * pitch + at) & 0x7fffffff;
      most = size > most ? size : most;
    }
    usable |= at_most<float>((Floats)most, largest_usable) << at;
  }
  return usable;
}

// Adds up the 16 lanes of each of `count` sums, in float: the lanes eight apart first, neighbours last.
template <int count>
STZ_INLINE void add_lanes(float (&v)[count][run]) {
  for (int half = run / 2; half > 0; half /= 2)
    for (int j = 0; j < count; j++)
      for (int i = 0; i < half; i++) v[j][i] += v[j][i + half];
}

constexpr int chunk = 1024;  // samples: lanes are added up that often

double cost(const float* const* column, int columns, const float* y, const float* c, int n, float soft, float* weight) {
  double total = 0;
  for (int from = 0; from < n; from += chunk) {
    const int to = n - from < chunk ? n : from + chunk;
    Floats sum[parts] = {};
    for (int k = from; k < to; k += run)
      for (int p = 0; p < parts; p++) {
        const int at = k + p * lanes;
        Floats r = load<float>(y + at);
        for (int g = 0; g < columns; g++) r -= load<float>(column[g] + at) * c[g];
        r = (Floats)((Ints)r & 0x7fffffff);
        const Floats u = r + 1.0f, d = r + soft;
        if (weight) store<float>(weight + at, 1.0f / (d * d));
        // log2 from the exponent and a cubic in the mantissa
        Ints b = (Ints)u;
        Floats e = __builtin_convertvector((b >> 23) - 127, Floats);
        Floats f = (Floats)((b & 0x7fffff) | 0x3f800000) - 1.0f;
        sum[p] += e + f * (1.4254f + f * (-0.6017f + f * 0.1763f));
      }
    float v[1][run];
    for (int p = 0; p < parts; p++) store<float>(v[0] + p * lanes, sum[p]);
    add_lanes(v);
    total += double(v[0][0]);
  }
  return total;
}

// sums[r * pitch + c] += sum over n of w * row[r] * column[c]
template <int rows, int columns>
inline void add_products(const float* w, const float* const* row, const float* const* column, int n, double* sums, int pitch) {
  float v[rows * columns][run];
  for (int p = 0; p < parts; p++) {
    Floats sum[rows][columns] = {};
    for (int at = p * lanes; at < n; at += run) {
      const Floats weight = load<float>(w + at);
      Floats left[rows];
      for (int r = 0; r < rows; r++) left[r] = weight * load<float>(row[r] + at);
      for (int c = 0; c < columns; c++) {
        const Floats right = load<float>(column[c] + at);
        for (int r = 0; r < rows; r++) sum[r][c] += left[r] * right;
      }
    }
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < columns; c++) store<float>(v[r * columns + c] + p * lanes, sum[r][c]);
  }
  add_lanes(v);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) sums[r * pitch + c] += double(v[r * columns + c][0]);
}

void products(const float* const* column, int columns, const float* w, int n, double* sums) {
  for (int i = 0; i < columns * columns; i++) sums[i] = 0;
  for (int from = 0; from < n; from += chunk) {
    const int size = n - from < chunk ? n - from : chunk;
    const float* at[max_groups + 2];
    for (int c = 0; c < columns; c++) at[c] = column[c] + from;
    for (int g = 0; g < columns; g += 2) {
      double* out = sums + g * columns + g;
      int c = g;
      for (; c + 3 < columns; c += 4, out += 4) add_products<2, 4>(w + from, at + g, at + c, size, out, columns);
      if (g + 1 == columns)
        add_products<1, 1>(w + from, at + g, at + c, size, out, columns);
      else if (columns - c == 3)
        add_products<2, 3>(w + from, at + g, at + c, size, out, columns);
      else if (columns - c == 2)
        add_products<2, 2>(w + from, at + g, at + c, size, out, columns);
      else if (columns - c == 1)
        add_products<2, 1>(w + from, at + g, at + c, size, out, columns);
    }
  }
}

double feedback(const FeedbackFitRow& row) {
  float total[1][run] = {};
  for (int x = 0; x < row.n; x += lanes) {
    Floats sum{};
    for (int t = 0; t < row.terms; t++) {
      const Floats before = load<float>(row.before[t] + x);
      store<float>(row.column[t] + x, before);
      sum += before * row.weight[t];
    }
    if (row.even) {
      const Floats both = load<float>(row.even + x) + load<float>(row.even + x + 1);
      store<float>(row.column[3] + x, both);
      sum += both * row.weight[3];
    }
    const Floats error = load<float>(row.difference + x) - sum, code = (error + magic<float>)-magic<float>;
    const Floats size = absolute<float>(error), code_size = absolute<float>(code), d = size + row.soft;
    store<float>(row.residual + x, sum + (Floats)((Ints)code & (Ints)(code_size <= row.limit)));
    const Floats valid = load<float>(row.valid + x);
    store<float>(row.share + x, valid / (d * d));
    // above 63 the exponent and two bits of the mantissa, counted from those of 64
    const Ints exact = (Ints)(code_size + magic<float>)-bits(magic<float>), octave = ((Ints)code_size >> 21) - (133 << 2) + 64;
    store_bytes<i32>(row.bin + x, code_size < 64.0f ? exact : octave);
    float* lane = total[0] + x % run;
    store<float>(lane, load<float>(lane) + size * valid);
  }
  add_lanes(total);
  return double(total[0][0]);
}

}  // namespace fit
}  // namespace
}  // namespace stz
