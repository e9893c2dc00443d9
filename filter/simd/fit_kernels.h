// The inner loops of the encoder's fits: collecting samples, costs and weights of residuals, normal equations. Included by kernels.cpp
// only. Sums use 16 lanes of floats that are added in a fixed order, whatever the vector width.
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

// 1 / n for the numbers of taps of groups.
template <class R>
constexpr R one_over(int n) {
  return n == 2 ? R(0.5) : n == 4 ? R(0.25) : n == 8 ? R(0.125) : R(1) / R(n);
}

// A sample is usable if none of its numbers exceeds this, so that sums of squares are finite.
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

// Adds the 16 lanes of each of `count` sums in float: lanes eight apart first, neighbours last.
template <int count>
STZ_INLINE void add_lanes(float (&v)[count][run]) {
  for (int half = run / 2; half > 0; half /= 2)
    for (int j = 0; j < count; j++)
      for (int i = 0; i < half; i++) v[j][i] += v[j][i + half];
}

// log2 of numbers from 1 on: the exponent plus a cubic in the mantissa.
STZ_INLINE Floats log2_of(Floats v) {
  const Ints b = (Ints)v;
  const Floats e = __builtin_convertvector((b >> 23) - 127, Floats), f = (Floats)((b & 0x7fffff) | 0x3f800000) - 1.0f;
  return e + f * (1.4254f + f * (-0.6017f + f * 0.1763f));
}

constexpr int chunk = 1024;  // samples after which lanes are added up

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
        sum[p] += log2_of(u);
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

// All lanes of `v` but the first, followed by the first lane of `next`.
template <int... i>
STZ_INLINE Floats lanes_from_second(Floats v, Floats next, std::integer_sequence<int, i...>) {
  return STZ_SHUFFLE(Ints, v, next, (i + 1)...);
}

// Sums over the samples of one parity, for a number of weight columns.
template <int columns>
struct FeedbackTotals {
  static constexpr int products = (columns + 1) * (columns + 2) / 2;
  Floats size{}, wide{}, product[products]{};

  // Returns the residuals. `context`, `key`: of the first sample.
  STZ_INLINE Floats add(const Floats* column, const float* weight, Floats stored, float soft, float limit, const u8* context, u8* key) {
    const Ints sample = (Ints)(absolute<float>(stored) <= FeedbackTrial::largest);
    const Floats difference = (Floats)((Ints)stored & sample);
    Floats sum{};
    for (int t = 0; t < columns; t++) sum += column[t] * weight[t];
    const Floats error = difference - sum, code = (error + magic<float>)-magic<float>;
    const Floats error_size = absolute<float>(error), code_size = absolute<float>(code), d = error_size + soft;
    const Floats share = (Floats)((Ints)(1.0f / (d * d)) & sample);
    const Ints exact = (Ints)(code_size + magic<float>)-bits(magic<float>);
    const Ints octave = ((Ints)code_size >> 23) - 130 + 6, half = ((Ints)code_size >> 22) - 2 * 129 + 4;
    const Ints bin = code_size < 8.0f ? (code_size < 4.0f ? exact : half) : octave;
    store_bytes<i32>(key, (load_bytes<i32>(context) + (bin < 14 ? bin : Ints{} + 14)) | ~sample);
    size += (Floats)((Ints)error_size & sample);
    wide += (Floats)((Ints)(Floats{} + 1.0f) & (Ints)(code_size > float(largest_byte_code)) & sample);
    int p = 0;
    for (int i = 0; i < columns; i++) {
      const Floats left = column[i] * share;
      for (int j = i; j < columns; j++) product[p++] += left * column[j];
      product[p++] += left * difference;
    }
    product[p] += difference * share * difference;
    return sum + (Floats)((Ints)code & (Ints)(code_size <= limit));
  }

  // Adds the lanes of all parts to the sums.
  static void finish(const FeedbackTotals* part, FeedbackSums& sums, double* of_products) {
    float v[2 + products][run];
    for (int p = 0; p < parts; p++) {
      store<float>(v[0] + p * lanes, part[p].size);
      store<float>(v[1] + p * lanes, part[p].wide);
      for (int k = 0; k < products; k++) store<float>(v[2 + k] + p * lanes, part[p].product[k]);
    }
    add_lanes(v);
    sums.size += double(v[0][0]);
    sums.wide += double(v[1][0]);
    for (int i = 0, k = 2; i <= columns; i++)
      for (int j = i; j <= columns; j++) of_products[i * FeedbackSums::pitch + j] += double(v[k++][0]);
  }
};

template <int terms>
void feedback_trial(const FeedbackTrial& t, FeedbackSums& sums) {
  FeedbackTotals<terms> even[parts];
  FeedbackTotals<terms + 1> odd[parts];
  const i64 pitch = t.pitch, apart = pitch + run;  // residuals end with zeros, the neighbours behind the last sample
  const i64 step[3] = {t.rows[1] * t.rows[2] * apart, t.rows[2] * apart, apart};
  float weight[2][terms + 1];
  for (int parity = 0; parity < 2; parity++) {
    for (int k = 0; k < terms; k++) weight[parity][k] = t.before[parity][k];
    weight[parity][terms] = t.beside;
  }
  i64 row = 0;
  for (i64 i = 0; i < t.rows[0]; i++)
    for (i64 j = 0; j < t.rows[1]; j++)
      for (i64 k = 0; k < t.rows[2]; k++, row++) {
        const i64 at[3] = {i, j, k};
        std::ptrdiff_t back[terms + 1];  // distance to the residual before a sample
        bool any[terms + 1];
        for (int c = 0; c < terms; c++) {
          back[c] = step[t.axis[c]];
          any[c] = at[t.axis[c]] > 0;
        }
        float* const own[2] = {t.residual[0] + row * apart, t.residual[1] + row * apart};
        for (i64 x = 0; x < pitch; x += run)
          for (int p = 0; p < parts; p++) {
            const i64 from = x + p * lanes;
            Floats column[terms + 1];
            for (int c = 0; c < terms; c++) column[c] = any[c] ? load<float>(own[0] + from - back[c]) : Floats{};
            const i64 place = row * pitch + from;
            store<float>(own[0] + from, even[p].add(column, weight[0], load<float>(t.difference[0] + place), t.soft, t.limit,
                                                    t.context[0] + place, t.key[0] + place));
          }
        store<float>(own[0] + pitch, Floats{});
        for (i64 x = 0; x < pitch; x += run)
          for (int p = 0; p < parts; p++) {
            const i64 from = x + p * lanes;
            Floats column[terms + 1];
            for (int c = 0; c < terms; c++) column[c] = any[c] ? load<float>(own[1] + from - back[c]) : Floats{};
            const Floats here = load<float>(own[0] + from), next = load<float>(own[0] + from + lanes);
            column[terms] = here + lanes_from_second(here, next, Lanes<lanes>{});
            const i64 place = row * pitch + from;
            store<float>(own[1] + from, odd[p].add(column, weight[1], load<float>(t.difference[1] + place), t.soft, t.limit,
                                                   t.context[1] + place, t.key[1] + place));
          }
      }
  FeedbackTotals<terms>::finish(even, sums, sums.products[0]);
  FeedbackTotals<terms + 1>::finish(odd, sums, sums.products[1]);
}

void feedback(const FeedbackTrial& trial, FeedbackSums& sums) {
  constexpr decltype(&feedback_trial<0>) by_terms[] = {feedback_trial<0>, feedback_trial<1>, feedback_trial<2>, feedback_trial<3>};
  by_terms[trial.terms](trial, sums);
}

}  // namespace fit
}  // namespace
}  // namespace stz
