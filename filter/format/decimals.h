// Numbers that were decimals of few digits: a sample says which decimal, and the element is the number of the type next to it. Record 15 of
// a header with fixed-point numbers. Byte by byte: docs/format.md, "Decimals".
#pragma once
#include "base/bytes.h"

namespace stz {

struct Decimals {
  // fixed: k / 10^digits. significant: the k-th number of so many significant digits above zero, those of 10^lowest before others.
  enum Kind : u8 { none = 0, fixed = 1, significant = 2 };
  u8 kind = none;
  int digits = 0;
  int lowest = 0;  // significant: the exponent of the first number
  bool any() const { return kind != none; }
};

constexpr int largest_power_of_ten = 22;     // of those that are exact in double
constexpr int most_significant_digits = 15;  // every such mantissa is exact in double
constexpr int most_places = 31;              // of the last significant digit, before or behind the point
constexpr i64 largest_decimal_index = i64(1) << 50;

// 10^p, p = 0 .. 22, exactly.
double power_of_ten(int p);

// The decimal of a sample, which is an index, in double. An index of significant digits beyond +-2^50 counts as that.
double decimal_of(const Decimals& d, double sample);
// The index of the decimal that is likely next to v. Call decimal_of to see whether it is v.
i64 decimal_index(const Decimals& d, double v);
// The exponent of a number when it is written with so many significant digits. v > 0. Above 100 if its last digit is out of range.
int decimal_exponent(double v, int digits);

Bytes write_decimals(const Decimals& d);
void read_decimals(ByteReader& payload, Decimals& d);

}  // namespace stz
