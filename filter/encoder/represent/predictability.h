// How well floating-point numbers are predicted by their neighbours: facts of a few hundred of them.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

// Mean sizes are those of the best linear or cubic prediction along one axis; infinite if no axis is long enough.
struct Predictability {
  // Expected bits of a number in ULP space, and with remainders. The bits above the mean sizes were fitted on 74 arrays.
  double bits_in_ulps() const { return places + 3.5; }
  double bits_with_remainders() const { return units + 2.25; }

  double places;  // mean log2(1 + distance) in the order of numbers
  double units;   // the same of the difference of values, in units in the last place of the number
  double median;  // the median of the differences of values
  // Neighbours say hardly more about a number than any other number does.
  bool hopeless;
  int zero_bits;  // lowest mantissa bits that are zero in all of them
};
Predictability predictability_of(const Array& a);

}  // namespace stz
