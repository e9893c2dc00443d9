#include "format/logarithm.h"

#include <array>

#include "coding/quantize.h"

namespace stz {
namespace {

constexpr int fraction = 40, chords = 64, chord_bits = 46;  // the 52 mantissa bits are 6 for the chord and 46 inside it
constexpr u64 mask = (u64(1) << fraction) - 1;

// 2^40 log2(1 + i / 64), by repeated squaring.
constexpr std::array<u64, chords + 1> make_table() {
  std::array<u64, chords + 1> table{};
  for (u64 i = 0; i < chords; i++) {
    u64 m = (u64(1) << 62) + (i << 56), result = 0;  // in [2^62, 2^63)
    for (int k = 0; k < fraction; k++) {
      unsigned __int128 square = (unsigned __int128)m * m >> 62;
      result <<= 1;
      if (square >> 63) {
        result |= 1;
        square >>= 1;
      }
      m = u64(square);
    }
    table[i] = result;
  }
  table[chords] = u64(1) << fraction;
  return table;
}
constexpr auto table = make_table();

// The smallest slope, in octaves per relative change of x: at the lower end of a chord.
constexpr double least_slope() {
  double least = 1e9;
  for (u64 i = 0; i < chords; i++) {
    double slope = double(chords + i) * double(table[i + 1] - table[i]) / double(u64(1) << fraction);
    if (slope < least) least = slope;
  }
  return least;
}

}  // namespace

double octaves_of(double v) {
  u64 b = bit_cast_to<u64>(v);
  i64 exponent = i64(b >> 52) - 1023;
  u64 m = b & ((u64(1) << 52) - 1), chord = m >> chord_bits, inside = m & ((u64(1) << chord_bits) - 1);
  u64 t = table[chord] + u64((unsigned __int128)(table[chord + 1] - table[chord]) * inside >> chord_bits);
  return double((exponent << fraction) + i64(t)) / double(u64(1) << fraction);
}

double number_from_octaves(double octaves) {
  if (!(octaves > -1022)) return bit_cast_to<double>(u64(1) << 52);
  if (!(octaves < 1024)) return bit_cast_to<double>((u64(0x7fe) << 52) | ((u64(1) << 52) - 1));
  i64 fixed = to_integer(octaves * double(u64(1) << fraction)), exponent = fixed >> fraction;
  u64 t = u64(fixed) & mask;
  int chord = 0;
  for (int step = chords / 2; step; step /= 2)
    if (table[size_t(chord + step)] <= t) chord += step;
  u64 width = table[size_t(chord + 1)] - table[size_t(chord)];
  u64 inside = u64(((unsigned __int128)(t - table[size_t(chord)]) << chord_bits) / width);
  u64 m = (u64(chord) << chord_bits) + inside;
  if (exponent > 1023) return bit_cast_to<double>((u64(0x7fe) << 52) | ((u64(1) << 52) - 1));
  return bit_cast_to<double>(u64(exponent + 1023) << 52 | m);
}

double octave_bound(double relative, int mantissa) {
  // Rounding to the type costs half an ulp, at most 2^-(mantissa + 1) of x'; the map itself rounds by at most 2^-36 octaves.
  const double rounding = 1.0 / double(u64(2) << mantissa);
  const double remaining = relative - rounding * (1 + relative);
  if (!(remaining > relative / 2)) return 0;
  const double bound = least_slope() * remaining / (1 + relative) - 1.0 / double(u64(1) << 36);
  return bound > 1e-8 ? bound * (1 - 1e-9) : 0;
}

}  // namespace stz
