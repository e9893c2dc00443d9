#include "format/decimals.h"

#include <algorithm>

#include "coding/quantize.h"

namespace stz {
namespace {

constexpr double powers[largest_power_of_ten + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int no_exponent = 1000;

// v * 10^p, with a rounding or two.
double roughly_scaled(double v, int p) {
  const int in_table = std::clamp(p, -largest_power_of_ten, largest_power_of_ten), rest = p - in_table;
  if (rest != 0) v = rest > 0 ? v * powers[rest] : v / powers[-rest];
  return in_table >= 0 ? v * powers[in_table] : v / powers[-in_table];
}

// The double next to m * 10^p. 0 < m < 2^50, |p| <= most_places: then 128 bits hold 5^31 * m, and a quotient has 55 bits or more: those of
// a double, the next one, and one that says whether anything is behind them.
double scaled(u64 m, int p) {
  if (p >= 0 && p <= largest_power_of_ten) return double(m) * powers[p];
  if (p < 0 && p >= -largest_power_of_ten) return double(m) / powers[-p];
  unsigned __int128 fives = 1;
  for (int i = p < 0 ? -p : p; i > 0; i--) fives *= 5;
  if (p > 0) return double(fives * m) * double(u64(1) << p);
  const int shift = 77 + __builtin_clzll(m << 14);  // m << shift has 127 bits
  const unsigned __int128 whole = (unsigned __int128)m << shift;
  unsigned __int128 quotient = whole / fives;
  quotient |= quotient * fives != whole;  // keeps a tie from what is above it
  return double(quotient) * bit_cast_to<double>(u64(1023 - shift + p) << 52);
}

// The power of ten of the last digit of a number with this exponent, brought into the range of those that are exact.
int last_digit(const Decimals& d, i64 exponent) { return int(std::clamp<i64>(exponent - d.digits + 1, -most_places, most_places)); }

}  // namespace

double power_of_ten(int p) { return powers[p]; }

double decimal_of(const Decimals& d, double sample) {
  if (d.kind == Decimals::fixed) return sample / powers[d.digits];
  const i64 index = std::clamp(to_integer(sample), -largest_decimal_index, largest_decimal_index);
  if (index == 0) return 0;
  const u64 first = u64(powers[d.digits - 1]), in_decade = 9 * first, place = u64(index < 0 ? -index : index) - 1;
  const double v = scaled(first + place % in_decade, last_digit(d, d.lowest + i64(place / in_decade)));
  return index < 0 ? -v : v;
}

int decimal_exponent(double v, int digits) {
  // A chord of the logarithm is too low by less than 0.03, so the exponent by at most 1.
  const u64 bits = bit_cast_to<u64>(v);
  const double octaves = double(int(bits >> 52) - 1023) + double(bits & ((u64(1) << 52) - 1)) * 0x1p-52;
  int exponent = int(octaves * 0.30102999566398120 + 400) - 400;
  const double end = powers[digits];  // the first mantissa with a digit more
  for (int tries = 0; tries < 2; tries++, exponent++) {
    const int last = exponent - digits + 1;
    if (last < -most_places || last > most_places) continue;
    if (round_even(roughly_scaled(v, -last)) < end) return exponent;
  }
  return no_exponent;
}

i64 decimal_index(const Decimals& d, double v) {
  const double size = __builtin_fabs(v);
  if (d.kind == Decimals::fixed) return to_integer(v * powers[d.digits]);
  if (!(size > 0 && size < 1e40)) return 0;
  const int exponent = decimal_exponent(size, d.digits);
  if (exponent == no_exponent || exponent < d.lowest) return 0;
  const u64 first = u64(powers[d.digits - 1]), in_decade = 9 * first;
  const double mantissa = round_even(roughly_scaled(size, d.digits - 1 - exponent));
  if (!(mantissa >= double(first)) || u64(exponent - d.lowest) > u64(largest_decimal_index) / in_decade) return 0;
  const i64 index = i64(u64(exponent - d.lowest) * in_decade + (u64(mantissa) - first) + 1);
  return v < 0 ? -index : index;
}

Bytes write_decimals(const Decimals& d) {
  Bytes payload{d.kind, u8(d.digits)};
  if (d.kind == Decimals::significant) payload.push_back(u8(d.lowest));
  return payload;
}

void read_decimals(ByteReader& payload, Decimals& d) {
  d.kind = payload.get<u8>();
  require(d.kind == Decimals::fixed || d.kind == Decimals::significant, STZ_ERROR_VERSION);
  d.digits = payload.get<u8>();
  if (d.kind == Decimals::fixed) return require(d.digits <= largest_power_of_ten, STZ_ERROR_CORRUPT);
  require(d.digits >= 1 && d.digits <= most_significant_digits, STZ_ERROR_CORRUPT);
  d.lowest = int8_t(payload.get<u8>());
  require(d.lowest >= -most_places && d.lowest <= most_places + most_significant_digits, STZ_ERROR_CORRUPT);
}

}  // namespace stz
