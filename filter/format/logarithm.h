// The logarithm for point-wise relative bounds: a piecewise linear, monotonic map from positive numbers to octaves, in integers.
//
// Each octave has 64 chords of log2. Both directions are exact to 2^-40 octaves, with the same result on every machine. A step of `d`
// octaves changes a number by at most d / slope of its value, so an absolute bound in octaves is a relative bound of the numbers.
#pragma once
#include "base/common.h"

namespace stz {

// log2(v) of a positive, normal number, within 5e-5.
double octaves_of(double v);
// The inverse. Saturates at the ends of the range of double.
double number_from_octaves(double octaves);
// The bound in octaves that keeps |x - x'| <= relative * |x| if x' is then rounded to a type with `mantissa` bits. 0: impossible.
double octave_bound(double relative, int mantissa);

}  // namespace stz
