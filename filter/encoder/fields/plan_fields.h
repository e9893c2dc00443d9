// Whether floating-point fields suit an array, and how it is taken apart: facts of a few thousand numbers.
#pragma once
#include "encoder/plan/array.h"
#include "format/float_fields.h"

namespace stz {

constexpr int log2_field_block = 17;  // of the numbers of a block

struct FieldPlan {
  int mantissa = 0;     // mantissa bits in a top
  int short_zeros = 0;  // numbers with so many low zero bits have symbols of their own; 0: none have
  double bits = 0;      // expected size of a number
  // The numbers are finite, hardly any two are equal, and they lie on no grid: forms that use such things will not do.
  bool continuous = false;
};

// `thorough`: tops may end anywhere; otherwise rests are whole bytes where that costs little.
FieldPlan plan_fields(const Array& a, bool thorough);

}  // namespace stz
