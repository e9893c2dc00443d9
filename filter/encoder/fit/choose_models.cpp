#include "encoder/fit/choose_models.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/faults.h"
#include "base/made_once.h"
#include "base/rough_log2.h"
#include "base/stages.h"

namespace stz {
namespace {

constexpr int scales = scale_limit;

// Bits of each size bin under every direct and value table, and of a zero under every zero-run table.
struct Costs {
  float direct[shapes][scales][size_bins];
  float value[value_tables][size_bins];
  double zero[zero_run_tables];
};

u64 bin_value(int bin) {
  if (bin < 64) return u64(bin);
  int e = 6 + (bin - 64) / 4;
  return (u64(4 | (bin & 3)) << (e - 2)) + (u64(1) << (e - 3));  // the middle of the bin
}

float symbol_cost(const CodeTable& t, u64 v) {
  if (v <= largest_symbol_value) {
    Symbol s = value_symbol(u32(v));
    if (int(s.symbol) < t.count) return float(t.cost[s.symbol]) / 256 + float(s.raw_bits);
  }
  return float(t.cost[t.count]) / 256 + 6 + float(floor_log2(v + 1));
}

const Costs& costs() {
  static std::atomic<const Costs*> made;  // never freed: no destructor may run at exit
  return made_once(made, [] {
    auto c = std::make_unique<Costs>();
    for (int bin = 0; bin < size_bins; bin++) {
      u64 a = std::min(bin_value(bin), (u64(1) << 61) - 1);
      Model m;
      for (int shape = 0; shape < shapes; shape++)
        for (int scale = 0; scale < scales; scale++) {
          m.shape = u8(shape);
          m.scale = u16(scale);
          const CodeTable& t = direct_table(m);
          int shift = m.shift();
          float cost = symbol_cost(t, 2 * a >> shift);
          if (a) cost = 0.5f * (cost + symbol_cost(t, (2 * a - 1) >> shift));
          c->direct[shape][scale][bin] = cost + float(shift);
        }
      for (int value = 0; value < value_tables; value++) {
        m.value = u8(value);
        const CodeTable& t = value_table(m);
        c->value[value][bin] = a ? 0.5f * (symbol_cost(t, 2 * a - 1) + symbol_cost(t, 2 * a - 2)) : 0;
      }
    }
    double p = 0.125;  // of a code that is not zero: 2^-(zero_run + 12) / 4
    for (int zero_run = 0; zero_run < zero_run_tables; zero_run++) {
      double power = p, sum = 0;
      for (int k = 1; k < 24; k++, power *= p) sum += power / k;
      c->zero[zero_run] = sum * 1.4426950408889634;
      p *= 0.8408964152537145;
    }
    return std::unique_ptr<const Costs>(std::move(c));
  });
}

// The codes of one context.
struct Histogram {
  static constexpr int lanes = 8;
  static_assert(size_bins % lanes == 0);
  int bins, used = 0;                            // all bins up to the last one, and those with codes
  float count[size_bins];                        // zero behind the last bin, up to a multiple of `lanes`
  double n_log2 = 0, total = 0, zeros, sum = 0;  // n_log2: sum of count * log2(count); `sum`: of sizes
  double positions = 0;                          // bits that name the places of codes in their bins
  Histogram(const u32* counts, int all_bins) : bins((all_bins + lanes - 1) / lanes * lanes), zeros(counts[0]) {
    std::fill(count + all_bins, count + bins, 0.0f);
    for (int b = 0; b < all_bins; b++) {
      const u32 n = counts[b];
      count[b] = float(n);
      if (!n) continue;
      used++;
      n_log2 += rough_n_log2(n);
      total += n;
      sum += n * double(bin_value(b));
      if (b >= 64) positions += n * double(4 + (b - 64) / 4);
    }
  }
  double bits(const float* cost) const {
    float lane[lanes] = {};
    for (int b = 0; b < bins; b += lanes)
      for (int i = 0; i < lanes; i++) lane[i] += count[b + i] * cost[b + i];
    return double((lane[0] + lane[4]) + (lane[1] + lane[5])) + double((lane[2] + lane[6]) + (lane[3] + lane[7]));
  }
};

double run_length_bits(const Histogram& h, int zero_run, double value_bits) {
  return h.zeros * costs().zero[zero_run] + (h.total - h.zeros) * (zero_run + 12) * 0.25 + 3 + value_bits;
}

double model_bits(const Histogram& h, const Model& m) {
  if (m.even_bits) return h.total * m.even_bits;
  if (m.run_length) return run_length_bits(h, m.zero_run, h.bits(costs().value[m.value]));
  return h.bits(costs().direct[m.shape][m.scale]);
}

// What no model is expected to undercut: the entropy of the bins, plus signs and positions in bins. The entropy of counts is on average
// 1 / (2 ln 2) bits for each further bin below what the distribution costs that they were drawn from.
double least_bits(const Histogram& h) {
  return h.total * rough_log2(h.total) + (h.total - h.zeros) - h.n_log2 + h.positions + 0.72 * (h.used - 1);
}

// The minimum of bits_of(k), low <= k <= high, for a function that falls, then rises. Walks downhill from `start` in steps of 2, then 1.
template <class F>
int downhill(int start, int low, int high, double& bits, F bits_of) {
  int at = std::clamp(start, low, high);
  bits = bits_of(at);
  for (int step : {2, 1})
    for (int direction : {step, -step}) {
      bool moved = false;
      while (at + direction >= low && at + direction <= high) {
        const double there = bits_of(at + direction);
        if (there >= bits) break;
        bits = there;
        at += direction;
        moved = true;
      }
      if (moved) break;
    }
  return at;
}

// The cheapest model, except that it may be a local minimum.
Model cheapest(const Histogram& h, const ModelChoice& choice, double& bits) {
  Model best;
  bits = 1e300;
  const double mean = h.sum / h.total;
  const int t = (mean < 1e12 ? mean_index(u64(mean * 65536) + 1, 65536) : mean_index(u64(mean), 1)) - 49;
  const int widest = std::min(scales - 1, unshifted_scales + 4 * choice.max_shift - 1);
  // From short tails to long ones: if longer tails are no better, still longer ones are not tried.
  auto direct = [&](int shape, int start) {
    double b;
    const int scale = downhill(start, 0, widest, b, [&](int k) { return h.bits(costs().direct[shape][k]); });
    const bool better = b < bits;
    if (better) {
      bits = b;
      best.shape = u8(shape);
      best.scale = u16(scale);
    }
    return better;
  };
  enum { laplace, gauss, cauchy, student };
  direct(laplace, default_scale_of(t) - 1);
  const int scale = best.scale;
  if (!direct(gauss, scale + 3) && direct(student, scale - 2)) direct(cauchy, best.scale - 3);
  if (h.total - h.zeros < 0.1 * h.total) {
    const double nonzero = std::max(h.total - h.zeros, 0.3);
    const int rho = h.sum > 0 ? int(32 * (1 - nonzero / h.sum)) : 0;
    double value_bits;
    const int value = downhill(rho, 0, value_tables - 1, value_bits, [&](int v) { return h.bits(costs().value[v]); });
    const int zero_run = int(log2_fixed(u64(h.total * 256)) - log2_fixed(u64(nonzero * 256))) * 4 / 256 - 12;
    for (int d = -1; d <= 2; d++) {
      const int g = std::clamp(zero_run + d, 0, zero_run_tables - 1);
      const double b = run_length_bits(h, g, value_bits);
      if (b >= bits) continue;
      bits = b;
      best = Model{true, 0, u8(g), u8(value), 0};
    }
  }
  return best;
}

}  // namespace

void CodeHistogram::clear() {
  for (auto& count : histogram_.count) std::fill_n(count, histogram_.bins, 0u);
  histogram_.bins = 0;
  all_ = 0;
  any_ = false;
}

template <class Code>
void CodeHistogram::add(const ClassCodes<Code>& codes, size_t first, const u8* context, size_t n, bool masked) {
  any_ |= n > 0;
  if (!codes.as_bytes) {
    using U = std::make_unsigned_t<Code>;
    const Code* code = codes.numbers.data() + first;
    for (size_t i = 0; i < n; i++)
      if (context[i] != no_context) add_code_size(context[i], code[i] < 0 ? U(0) - U(code[i]) : U(code[i]));
    return;
  }
  const u8* code = codes.bytes.data() + first;
  largest_ = std::max(largest_, int(kernels().bytes.largest(code, n)));
  if (masked) {
    for (size_t i = 0; i < n; i++)
      if (context[i] != no_context) bytes_[i & 1][context[i]][code[i]]++;
  } else {
    size_t i = 0;
    for (; i + 1 < n; i += 2) {
      bytes_[0][context[i]][code[i]]++;
      bytes_[1][context[i + 1]][code[i + 1]]++;
    }
    if (i < n) bytes_[0][context[i]][code[i]]++;
  }
  auto e = codes.wide_codes.begin();
  if (first) e = std::lower_bound(e, codes.wide_codes.end(), first, [](const WideCode& x, size_t index) { return x.index < index; });
  for (; e != codes.wide_codes.end() && e->index < first + n; ++e)
    if (context[e->index - first] != no_context)
      add_code_size(context[e->index - first], e->code == outlier_mark ? outlier_code_size<Code> : u64(e->code < 0 ? -e->code : e->code));
}
template void CodeHistogram::add(const ClassCodes<i32>&, size_t, const u8*, size_t, bool);
template void CodeHistogram::add(const ClassCodes<i64>&, size_t, const u8*, size_t, bool);

const ClassHistogram& CodeHistogram::result() {
  const int end = std::min(largest_ + 1, int(byte_escape));
  for (int k = 0; k < contexts && largest_ >= 0; k++) {
    u32 sum[byte_escape + 2] = {};  // zig-zag numbers 2 m - 1 and 2 m have size m
    for (int z = 0; z < end; z++) sum[z] = bytes_[0][k][z] + bytes_[1][k][z];
    histogram_.count[k][0] += sum[0];
    for (int m = 1; m <= end / 2; m++)
      if (const u32 n = sum[2 * m - 1] + sum[2 * m]) histogram_.count[k][size_bin(u64(m))] += n;
    for (auto& half : bytes_) std::fill_n(half[k], largest_ + 1, 0u);
  }
  if (largest_ >= 0) all_ |= u64(end) / 2;
  largest_ = -1;
  if (any_) histogram_.bins = all_ ? size_bin((u64(2) << floor_log2(all_)) - 1) + 1 : 1;
  STZ_FAULT_POINT(histogram, histogram_.count, sizeof histogram_.count);
  return histogram_;
}

template <class Code>
void add_up(const ClassHistogram& histogram, u64& sum, u64& count) {
  const int bins = std::min(histogram.bins, size_bin(outlier_code_size<Code>));
  u32 in_bin[size_bins] = {};
  for (int k = 0; k < contexts; k++)
    for (int b = 0; b < bins; b++) in_bin[b] += histogram.count[k][b];
  for (int b = 0; b < bins; b++) {
    count += in_bin[b];
    sum += in_bin[b] * std::min(bin_value(b), u64(1) << 40);
  }
}
template void add_up<i32>(const ClassHistogram&, u64&, u64&);
template void add_up<i64>(const ClassHistogram&, u64&, u64&);

double choose_models(const ClassHistogram& histogram, double scale, const Model* predicted, const ModelChoice& choice, ClassParameters& p) {
  STZ_STAGE(models);
  constexpr double naming = 9;  // approximate bits to name a model
  constexpr double chance = 2;  // bits that the best of many models gains in a sample by chance
  double total = 0;
  for (int k = 0; k < contexts; k++) {
    Model base = predicted[k];
    while (!base.run_length && base.shift() > choice.max_shift) base.scale--;
    p.model[k] = base;
    const Histogram h(histogram.count[k], histogram.bins);
    if (!h.used) continue;
    double bits = model_bits(h, base);
    const double worthwhile = naming / scale + (scale > 1.5 ? chance : 0);
    if (bits - least_bits(h) > worthwhile) {
      double cheapest_bits;
      Model best = cheapest(h, choice, cheapest_bits);
      if (choice.even_bits && h.total * choice.even_bits < cheapest_bits) {
        best = Model{};
        best.even_bits = u8(choice.even_bits);
        cheapest_bits = h.total * choice.even_bits;
      }
      if (bits - cheapest_bits > worthwhile) {
        p.model[k] = best;
        bits = cheapest_bits;
      }
    }
    total += bits;
  }
  return total;
}

}  // namespace stz
