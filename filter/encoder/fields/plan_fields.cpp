#include "encoder/fields/plan_fields.h"

#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "encoder/represent/find_decimals.h"
#include "encoder/represent/fixed_point.h"

namespace stz {
namespace {

constexpr u64 sampled_runs = 16, run_length = 256;
constexpr int most_top_bits = 13, most_mantissa = 4;

// The bits of numbers from runs that are spread over the array.
std::vector<u64> sample_numbers(const Array& a) {
  const u64 all = a.elements * u64(a.parts), length = std::min(run_length, all);
  const u64 runs = std::min(sampled_runs, all / length);
  std::vector<u64> bits;
  for (u64 r = 0; r < runs; r++) {
    const u64 first = runs == 1 ? 0 : (all - length) / (runs - 1) * r;
    for (u64 k = 0; k < length; k++) bits.push_back(a.bits((first + k) / u64(a.parts), int((first + k) % u64(a.parts))));
  }
  return bits;
}

// Bits per symbol, with the correction of Miller and Madow (1955) for few samples. Numbers behind the most frequent ones are escapes. Each
// symbol takes some bits of the parameters of a block of `in_block` numbers.
double entropy(const std::vector<u32>& symbols, int top_bits, double in_block) {
  constexpr double of_parameters = 8;
  std::vector<u32> counts(size_t(2) << most_top_bits);
  for (u32 s : symbols) counts[s]++;
  std::erase(counts, 0u);
  std::sort(counts.rbegin(), counts.rend());
  const double n = double(symbols.size());
  double bits = n * rough_log2(n);
  u32 escapes = 0;
  for (size_t k = 0; k < counts.size(); k++)
    if (k < size_t(most_field_symbols - 1))
      bits -= rough_n_log2(counts[k]);
    else
      escapes += counts[k];
  bits += escapes * double(top_bits) - rough_n_log2(escapes);
  const double used = double(std::min<size_t>(counts.size(), most_field_symbols) - 1);
  return (bits + 0.72 * used) / n + of_parameters * used / in_block;
}

// The number of low zero bits that some of the numbers share, such as those that were of a narrower type once; 0: none is worth a symbol.
int find_short_zeros(const std::vector<u64>& numbers, int mantissa_bits) {
  int best = 0;
  double best_gain = 0.1;  // bits per number
  for (int zeros = 4; zeros <= mantissa_bits; zeros++) {
    double share = 0;
    for (u64 v : numbers) share += (v & ((u64(1) << zeros) - 1)) == 0 && v << 1 != 0;
    share /= double(numbers.size());
    if (share < 0.01 || share > 0.995) continue;
    const double flag = -share * rough_log2(share) - (1 - share) * rough_log2(1 - share), gain = share * zeros - flag;
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = zeros;
  }
  return best;
}

// Low bits that are zero in all of the numbers.
int common_zeros(const std::vector<u64>& numbers, int mantissa_bits) {
  u64 any = u64(1) << mantissa_bits;
  for (u64 v : numbers) any |= v;
  return __builtin_ctzll(any);
}

template <class T>
bool on_grid(i32 dtype, const std::vector<u64>& numbers) {
  std::vector<T> values;
  for (u64 v : numbers) values.push_back(T(number_of(dtype, v)));
  return find_fixed_point_grid(Header(), values.data(), nullptr, values.size()) || find_decimals(values.data(), nullptr, values.size());
}

bool are_continuous(i32 dtype, const std::vector<u64>& numbers) {
  const FloatFormat format = float_format(dtype);
  const int width = 8 * int(component_size(dtype));
  const u64 infinite = format.first_special(), magnitude = format.sign() - 1;
  std::vector<u64> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  size_t distinct = 0, run = 0;
  for (size_t i = 0; i < sorted.size(); i++) {
    if ((sorted[i] & magnitude) >= infinite) return false;
    run = i && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    distinct += run == 1;
    if (run > sorted.size() / 50) return false;
  }
  if (distinct < sorted.size() / 2) return false;
  return !(width == 64 ? on_grid<double>(dtype, numbers) : width == 32 && on_grid<float>(dtype, numbers));
}

}  // namespace

FieldPlan plan_fields(const Array& a, bool thorough) {
  const i32 dtype = a.layout.dtype;
  const std::vector<u64> numbers = sample_numbers(a);
  FieldPlan best;
  const int mantissa = mantissa_bits(dtype), short_zeros = find_short_zeros(numbers, mantissa), zeros = common_zeros(numbers, mantissa);
  const double in_block = double(std::min(a.elements * u64(a.parts), u64(1) << log2_field_block));
  double best_cost = 0;
  std::vector<u32> symbols(numbers.size());
  for (int k = 0; k <= std::min(most_mantissa, mantissa); k++) {
    const FieldWidths w(dtype, k);
    if (w.top + (short_zeros != 0) > most_top_bits || short_zeros > w.low || zeros > w.low) break;
    double rests = 0;
    for (size_t i = 0; i < numbers.size(); i++) {
      const bool is_short = short_zeros && (numbers[i] & ((u64(1) << short_zeros) - 1)) == 0;
      symbols[i] = u32((numbers[i] & (~u64(0) >> (65 - w.number))) >> w.low) * 2 + is_short;
      rests += w.low + 1 - (is_short ? short_zeros : zeros);
    }
    const double bits = entropy(symbols, w.top, in_block) + rests / double(numbers.size());
    const bool whole_bytes = (w.low + 1 - zeros) % 8 == 0;
    const double cost = bits + (whole_bytes || thorough ? 0 : 0.03);  // packing bits takes a tenth of the time
    if (best.bits != 0 && cost >= best_cost) continue;
    best_cost = cost;
    best = {k, short_zeros, bits};
  }
  best.continuous = are_continuous(dtype, numbers);
  return best;
}

}  // namespace stz
