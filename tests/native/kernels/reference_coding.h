// References for the kernels of fits and of rANS. Included by reference.cpp only.
#pragma once
#include <cmath>

#include "harness.h"

namespace check {
namespace {

// ---------------------------------------------------------------- fits

// One over the number of taps, or of anything else, in the type that predictions are made in.
template <class R>
R share_of(int n) {
  return R(1) / R(n);
}

template <class S>
u32 collect(const S* row, const TapTable& taps, int odd, RealOf<S> inverse_unit, float* m, std::ptrdiff_t pitch, float* y) {
  using R = RealOf<S>;
  u32 usable = 0;
  for (int i = 0; i < 16; i++) {
    std::vector<R> mean;
    const std::ptrdiff_t* offset = taps.offset;
    for (int g = 0; g < taps.groups; g++) {
      R sum[2];  // of the first, third, fifth ... and of the second, fourth, sixth ... tap
      for (int t = 0; t < taps.taps[g]; t++) {
        const R v = R(row[i + *offset++]);
        sum[t % 2] = t < 2 ? v : sum[t % 2] + v;
      }
      mean.push_back((sum[0] + sum[1]) * share_of<R>(taps.taps[g]));
    }
    R cubics = 0;
    for (int k = 0; k < odd; k++) cubics += mean[size_t(k)] * R(9) - mean[size_t(odd + k)];
    cubics *= share_of<R>(8 * odd);
    y[i] = float((R(row[i]) - cubics) * inverse_unit);
    bool good = std::fabs(y[i]) < 1e15f;
    for (int g = 0; g < taps.groups; g++) {
      float& out = m[g * pitch + i];
      out = float((mean[size_t(g)] - cubics) * inverse_unit);
      good = good && std::fabs(out) < 1e15f;
    }
    usable |= u32(good) << i;
  }
  return usable;
}

// log2 of a number that is at least 1: its exponent and a cubic in its mantissa. Infinity and NaN are read as numbers.
float log2_of(float v) {
  const i32 bits = bit_cast_to<i32>(v);
  const float exponent = float((bits >> 23) - 127), f = bit_cast_to<float>((bits & 0x7fffff) | 0x3f800000) - 1.0f;
  return exponent + f * (1.4254f + f * (-0.6017f + f * 0.1763f));
}

// Sum of term(i) over n numbers: sixteen sums of every sixteenth in float; after 1024 numbers these are added up, those eight apart first,
// neighbours last, and the result goes to a sum in double.
template <class Term>
double sum_of(int n, Term term) {
  double total = 0;
  for (int from = 0; from < n; from += 1024) {
    float lane[16] = {};
    for (int i = from; i < n && i < from + 1024; i++) lane[i % 16] += term(i);
    for (int half = 8; half; half /= 2)
      for (int k = 0; k < half; k++) lane[k] += lane[k + half];
    total += double(lane[0]);
  }
  return total;
}

double cost(const float* const* column, int columns, const float* y, const float* c, int n, float soft, float* weight) {
  return sum_of(n, [&](int i) {
    float r = y[i];
    for (int g = 0; g < columns; g++) r -= column[g][i] * c[g];
    r = std::fabs(r);
    if (weight) weight[i] = 1.0f / ((r + soft) * (r + soft));
    return log2_of(r + 1.0f);
  });
}

// Entries below the diagonal are left alone.
void products(const float* const* column, int columns, const float* weight, int n, double* sums) {
  for (int i = 0; i < columns; i++)
    for (int j = i; j < columns; j++) sums[i * columns + j] = sum_of(n, [&](int k) { return weight[k] * column[i][k] * column[j][k]; });
}

// Sums of 16 lanes of floats, added up at the end.
struct LaneSum {
  float lane[16] = {};
  double total() const {
    float v[16];
    std::copy(lane, lane + 16, v);
    for (int half = 8; half; half /= 2)
      for (int k = 0; k < half; k++) v[k] += v[k + half];
    return double(v[0]);
  }
};

void feedback(const FeedbackTrial& t, FeedbackSums& sums) {
  constexpr int pitch = FeedbackSums::pitch;
  LaneSum size[2], wide[2], product[2][pitch][pitch];
  const i64 row_step[3] = {t.rows[1] * t.rows[2], t.rows[2], 1}, apart = t.pitch + 16;
  i64 row = 0;
  for (i64 i = 0; i < t.rows[0]; i++)
    for (i64 j = 0; j < t.rows[1]; j++)
      for (i64 k = 0; k < t.rows[2]; k++, row++)
        for (int parity : {0, 1}) {
          const i64 at[3] = {i, j, k};
          for (i64 x = 0; x < t.pitch; x++) {
            const float stored = t.difference[parity][row * t.pitch + x], *even = t.residual[0] + row * apart;
            const bool sample = std::fabs(stored) <= FeedbackTrial::largest;
            const float difference = sample ? stored : 0.0f;
            float column[pitch], sum = 0;
            const int columns = t.terms + parity;
            for (int c = 0; c < t.terms; c++) {
              const int axis = t.axis[c];
              column[c] = at[axis] > 0 ? t.residual[parity][(row - row_step[axis]) * apart + x] : 0.0f;
              sum += column[c] * t.before[parity][c];
            }
            if (parity) {
              column[t.terms] = even[x] + (x + 1 < t.pitch ? even[x + 1] : 0.0f);
              sum += column[t.terms] * t.beside;
            }
            column[columns] = difference;
            const float error = difference - sum, code = std::rint(error), error_size = std::fabs(error), code_size = std::fabs(code);
            t.residual[parity][row * apart + x] = sum + (code_size <= t.limit ? code : 0.0f);
            const float d = error_size + t.soft, share = sample ? 1.0f / (d * d) : 0.0f;
            const size_t lane = size_t(x % 16);
            size[parity].lane[lane] += sample ? error_size : 0.0f;
            wide[parity].lane[lane] += sample && code_size > 127 ? 1.0f : 0.0f;
            for (int a = 0; a <= columns; a++)
              for (int b = a; b <= columns; b++) product[parity][a][b].lane[lane] += column[a] * share * column[b];
            const int octave = code_size >= 8 ? std::ilogb(code_size) : 0;
            const int bin = code_size < 4 ? int(code_size) : code_size < 6 ? 4 : code_size < 8 ? 5 : std::min(14, octave + 3);
            t.key[parity][row * t.pitch + x] = sample ? u8(t.context[parity][row * t.pitch + x] + bin) : u8(255);
          }
          if (!parity) std::fill_n(t.residual[0] + row * apart + t.pitch, 16, 0.0f);
        }
  for (int parity : {0, 1}) {
    sums.size += size[parity].total();
    sums.wide += wide[parity].total();
    for (int a = 0; a <= t.terms + parity; a++)
      for (int b = a; b <= t.terms + parity; b++) sums.products[parity][a * pitch + b] += product[parity][a][b].total();
  }
}

// ---------------------------------------------------------------- rANS

constexpr u32 total_frequency = 4096, smallest_state = 1u << 15;

// An entry of the table: symbol, its frequency and the distance from the symbol's first entry.
void rans_decode(const u32* table, u32 lanes, RansStream* streams, int count) {
  for (RansStream* s = streams; s < streams + count; s++)
    for (s->done = 0; s->done + lanes <= s->n && size_t(s->end - s->word) >= 2 * lanes; s->done += lanes)
      for (u32 lane = 0; lane < lanes; lane++) {
        u32& x = s->state[lane];
        const u32 entry = table[x % total_frequency], frequency = entry >> 8 & 4095, distance = entry >> 20;
        s->out[s->done + lane] = u8(entry);
        x = frequency * (x / total_frequency) + distance;
        if (x < smallest_state) {
          x = x << 16 | u32(s->word[0]) | u32(s->word[1]) << 8;
          s->word += 2;
        }
      }
}

// A step is frequency | bias << 12 | shift << 28. The bias is where the symbol starts, or, of one of frequency 1, 4095 more: its quotient
// is one too small, so that its reciprocal fits 32 bits. Here division is division.
void rans_encode(u32 lanes, RansOutput* streams, int count) {
  for (RansOutput* o = streams; o < streams + count; o++)
    for (const RansSegment* g = o->segments + o->count; g-- > o->segments;)
      for (size_t j = g->n; j-- > 0;) {
        u32& x = o->state[j % lanes];
        const u32 s = g->step[j % 2][g->symbols[j]], frequency = s & 4095, bias = s >> 12 & 0xffff,
                  start = frequency == 1 ? bias - 4095 : bias;
        if (x >= frequency << 19) {
          *o->word++ = u16(x);
          x >>= 16;
        }
        x = x / frequency * total_frequency + x % frequency + start;
      }
}

}  // namespace
}  // namespace check
