#include "choose_models.h"

#include <algorithm>
#include <memory>

namespace stz {
namespace {

constexpr int scales = scale_limit;

// Cost in bits of a magnitude bin under every dense and value table, and of a zero under every gap table.
struct Costs {
  float dense[shapes][scales][magnitude_bins];
  float value[value_tables][magnitude_bins];
  double zero[gap_tables];
};

u64 bin_value(int bin) {
  if (bin < 64) return u64(bin);
  int e = 6 + (bin - 64) / 4;
  return (u64(4 | (bin & 3)) << (e - 2)) + (u64(1) << (e - 3));  // the middle
}

float symbol_cost(const CodeTable& t, u64 v) {
  if (v <= largest_symbol_value) {
    Symbol s = dense_symbol(u32(v));
    if (int(s.symbol) < t.count) return float(t.cost[s.symbol]) / 256 + float(s.raw_bits);
  }
  return float(t.cost[t.count]) / 256 + 6 + float(floor_log2(v + 1));
}

const Costs& costs() {
  static const Costs* const table = [] {  // never freed: nothing may run when the process ends
    auto c = std::make_unique<Costs>();
    for (int bin = 0; bin < magnitude_bins; bin++) {
      u64 a = std::min(bin_value(bin), (u64(1) << 61) - 1);
      Model m;
      for (int shape = 0; shape < shapes; shape++)
        for (int scale = 0; scale < scales; scale++) {
          m.shape = u8(shape);
          m.scale = u16(scale);
          const CodeTable& t = dense_table(m);
          int shift = m.shift();
          float cost = symbol_cost(t, 2 * a >> shift);
          if (a) cost = 0.5f * (cost + symbol_cost(t, (2 * a - 1) >> shift));
          c->dense[shape][scale][bin] = cost + float(shift);
        }
      for (int value = 0; value < value_tables; value++) {
        m.value = u8(value);
        const CodeTable& t = value_table(m);
        c->value[value][bin] = a ? 0.5f * (symbol_cost(t, 2 * a - 1) + symbol_cost(t, 2 * a - 2)) : 0;
      }
    }
    double p = 0.125;  // of a code that is not zero: 2^-(gap + 12) / 4
    for (int gap = 0; gap < gap_tables; gap++) {
      double power = p, sum = 0;
      for (int k = 1; k < 24; k++, power *= p) sum += power / k;
      c->zero[gap] = sum * 1.4426950408889634;
      p *= 0.8408964152537145;
    }
    return c.release();
  }();
  return *table;
}

struct Histogram {
  const u32* count;
  int bins[magnitude_bins], used = 0;  // bins that are not empty
  double total = 0, zeros = 0;
  explicit Histogram(const u32* h) : count(h), zeros(h[0]) {
    for (int b = 0; b < magnitude_bins; b++)
      if (h[b]) {
        bins[used++] = b;
        total += h[b];
      }
  }
};

double model_cost(const Histogram& h, const Model& m) {
  const Costs& c = costs();
  double bits = 0;
  if (m.sparse) {
    bits = h.zeros * c.zero[m.gap] + (h.total - h.zeros) * (m.gap + 12) * 0.25 + 3;
    for (int k = 0; k < h.used; k++) bits += h.count[h.bins[k]] * double(c.value[m.value][h.bins[k]]);
    return bits;
  }
  const float* cost = c.dense[m.shape][m.scale];
  for (int k = 0; k < h.used; k++) bits += h.count[h.bins[k]] * double(cost[h.bins[k]]);
  return bits;
}

Model cheapest(const Histogram& h, int max_shift, double& bits) {
  Model best;
  bits = 1e300;
  auto consider = [&](const Model& m) {
    double c = model_cost(h, m);
    if (c < bits) {
      bits = c;
      best = m;
    }
  };
  // the mean magnitude says where to look
  double sum = 0;
  for (int k = 0; k < h.used; k++) sum += double(h.count[h.bins[k]]) * double(bin_value(h.bins[k]));
  const double mean = sum / h.total;
  int t = (mean < 1e12 ? mean_index(u64(mean * 65536) + 1, 65536) : mean_index(u64(mean), 1)) - 49;
  int centre = default_scale_of(t);
  Model m;
  for (int shape = 0; shape < shapes; shape++)
    for (int scale = std::max(0, centre - 14); scale <= std::min(scales - 1, centre + 5); scale++) {
      m.shape = u8(shape);
      m.scale = u16(scale);
      if (m.shift() <= max_shift) consider(m);
    }
  if (h.total - h.zeros < 0.1 * h.total) {
    Model s;
    s.sparse = true;
    double nonzero = std::max(h.total - h.zeros, 0.3);
    int gap = int(log2_fixed(u64(h.total * 256)) - log2_fixed(u64(nonzero * 256))) * 4 / 256 - 12;
    double value_bits = 1e300;
    for (int v = 0; v < value_tables; v++) {
      double c = 0;
      for (int k = 0; k < h.used; k++) c += h.count[h.bins[k]] * double(costs().value[v][h.bins[k]]);
      if (c < value_bits) {
        value_bits = c;
        s.value = u8(v);
      }
    }
    for (int d = -1; d <= 2; d++) {
      s.gap = u8(std::clamp(gap + d, 0, gap_tables - 1));
      consider(s);
    }
  }
  return best;
}

}  // namespace

template <class Code>
void add_to_histogram(const ClassCodes<Code>& codes, const u8* context, size_t n, ClassHistogram& histogram) {
  auto add = [&](u8 k, u64 magnitude) { histogram[k][magnitude_bin(magnitude)]++; };
  if (codes.as_bytes) {
    for (size_t i = 0; i < n; i++)
      if (context[i] != no_context && codes.bytes[i] != byte_exception) add(context[i], u64(codes.bytes[i] + 1) >> 1);
    for (const Exception& e : codes.exceptions)
      add(context[e.index], e.code == verbatim_exception ? largest_code<Code> : u64(e.code < 0 ? -e.code : e.code));
    return;
  }
  for (size_t i = 0; i < n; i++) {
    if (context[i] == no_context) continue;
    const Code c = codes.numbers[i];
    add(context[i], c == verbatim_code<Code> ? largest_code<Code> : zigzag(c) / 2 + (c < 0));
  }
}
template void add_to_histogram(const ClassCodes<i32>&, const u8*, size_t, ClassHistogram&);
template void add_to_histogram(const ClassCodes<i64>&, const u8*, size_t, ClassHistogram&);

double choose_models(const ClassHistogram& histogram, const ModelState& state, int max_shift, ClassParameters& p) {
  double total = 0;
  for (int k = 0; k < contexts; k++) {
    Model base = state.predicted(p.mean, k);
    while (!base.sparse && base.shift() > max_shift) base.scale--;
    p.model[k] = base;
    Histogram h(histogram[k]);
    if (!h.used) continue;
    double base_bits = model_cost(h, base), bits;
    Model best = cheapest(h, max_shift, bits);
    // naming a model costs about this much
    if (bits + 9 < base_bits)
      p.model[k] = best;
    else
      bits = base_bits;
    total += bits;
  }
  return total;
}

}  // namespace stz
