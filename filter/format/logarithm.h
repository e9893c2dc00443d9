// The logarithm of point-wise relative bounds: a piecewise linear, monotonic map of positive numbers to octaves, in integers.
//
// In each octave 64 chords of log2; exact to 2^-40 octaves in both directions and the same on every machine. A step of `d` octaves changes
// a number by at most d / slope of it, so that an absolute bound in octaves is a relative one in numbers.
#pragma once
#include "base/common.h"

namespace stz {

// Octaves of a positive, normal number: log2(v) within 5e-5.
double octaves_of(double v);
// Its inverse; saturates at the ends of the range of double.
double number_from_octaves(double octaves);
// The bound in octaves that keeps |x - x'| <= relative * |x| when x' is then rounded to a type of `mantissa` bits. 0: there is no room.
double octave_bound(double relative, int mantissa);

}  // namespace stz
