// Cuts floating-point numbers at a power of two S, for streams with remainders (format/remainders.h).
#pragma once
#include <optional>

#include "encoder/plan/array.h"

namespace stz {

struct CutNumbers {
  Buffer<u8> elements;  // multiples of S, in the layout of the array
  double largest = 0;   // magnitude
  Remainders remainders;
  double remainder_bits = 0;  // of all elements
};

// None if the format cannot hold the remainders. `step`: a power of two. `h`: fill value and the facts about special values.
std::optional<CutNumbers> cut_numbers(const Array& a, const Header& h, double step);

}  // namespace stz
