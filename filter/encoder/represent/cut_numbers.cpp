#include "encoder/represent/cut_numbers.h"

#include <array>

namespace stz {
namespace {

// What is found while elements are cut.
struct Found {
  u64 any = 0, zeros = 0, smalls = 0;  // bits of all elements; exact zeros, other elements below S
  u64 largest = 0;                     // magnitude
  double bits = 0;                     // of remainders with zero bits
  bool hits_fill = false;              // a number would be cut to the fill value
  // For each value of gap_bits: the bits of all gaps of small numbers, and the number of small numbers that are stored whole.
  std::array<u64, most_gap_bits + 1> gaps{}, wholes{};

  void add_small(u64 gap, bool whole) {
    smalls++;
    for (size_t k = 0; k < gaps.size(); k++) {
      const u64 high = gap >> k;
      if (whole || high >= u64(longest_gap))
        wholes[k]++;
      else
        gaps[k] += high + 1 + k;
    }
  }
  double bits_of_small(size_t k, int mantissa, int number) const {
    return double(gaps[k]) + double(smalls - wholes[k]) * (1 + mantissa) + double(wholes[k]) * (longest_gap + number);
  }
};

template <class U>
Found cut(const Array& a, const RemainderWidths& w, u8* out) {
  Found found;
  const u64 n = a.elements * u64(a.parts), magnitude = ~u64(0) >> (65 - w.number);
  u64 widths = 0;
  for (u64 i = 0; i < n; i++) {
    const u64 x = load_bits(a.data + i * sizeof(U), sizeof(U), a.swap);
    u64 y = x;
    if (w.has_remainder(x)) {
      if (w.is_small(x)) {
        y = 0;
        const u64 exponent = w.exponent(x);
        if (x == 0)
          found.zeros++;
        else
          found.add_small(w.exponent_of_step - 1 - exponent, exponent == 0);
      } else {
        const int width = w.width(x);
        y = x >> width << width;
        widths += u64(width);
      }
      found.any |= x;
      found.largest = std::max(found.largest, x & magnitude);
      found.hits_fill |= w.has_fill && y == w.fill;
    }
    store_bits(out + i * sizeof(U), y, sizeof(U), a.swap);
  }
  found.bits = double(widths);
  return found;
}

}  // namespace

std::optional<CutNumbers> cut_numbers(const Array& a, const Header& header, double step) {
  Header h = header;
  h.remainders.step = step;
  const RemainderWidths w(h);
  if (w.exponent_of_step < 1 || w.exponent_of_step >= w.all_ones) return {};
  CutNumbers c;
  c.elements.resize(size_t(array_bytes(a.layout)));
  const Found found = a.width == 4 ? cut<u32>(a, w, c.elements.data()) : cut<u64>(a, w, c.elements.data());
  if (found.hits_fill || found.any == 0) return {};
  c.remainders.step = step;
  c.largest = number_of(a.width == 4 ? STZ_F32 : STZ_F64, found.largest);
  c.remainders.present = true;
  constexpr u64 bits_of_whole = 40;  // a small number that is stored whole takes about so many more than a mark
  c.remainders.zeros = found.smalls == 0 ? Zeros::all : found.zeros * bits_of_whole > found.smalls ? Zeros::marked : Zeros::as_others;
  c.remainders.zero_bits = std::min(w.mantissa, __builtin_ctzll(found.any));
  const u64 numbers = a.elements * u64(a.parts) - found.zeros - found.smalls;
  c.remainder_bits = std::max(0.0, found.bits - double(numbers) * c.remainders.zero_bits);
  const auto of_small = [&](int k) { return found.bits_of_small(size_t(k), w.mantissa - c.remainders.zero_bits, w.number); };
  for (int k = 1; k <= most_gap_bits; k++)
    if (of_small(k) < of_small(c.remainders.gap_bits)) c.remainders.gap_bits = k;
  c.remainder_bits += of_small(c.remainders.gap_bits) + (c.remainders.zeros == Zeros::marked ? double(found.zeros + found.smalls) : 0.0);
  return c;
}

}  // namespace stz
