// The part of an array that is coded: all of it, or a box at its start when the rest is padding (edge chunks of HDF5).
#pragma once
#include "format/frame.h"

namespace stz {

inline u64 valid_elements(const Header& h) {
  u64 n = 1;
  for (int a = 0; a < h.layout.rank; a++) n *= h.valid[a];
  return n;
}

// Element of the array that element `number` of the valid box is.
inline u64 element_of(const Header& h, u64 number) {
  u64 element = 0, stride = 1;
  for (int a = h.layout.rank - 1; a >= 0; a--) {
    element += number % h.valid[a] * stride;
    number /= h.valid[a];
    stride *= h.layout.shape[a];
  }
  return element;
}

// Calls f(number in the valid box, element of the array) for every element of the valid box, in C order.
template <class F>
void for_valid(const Header& h, F f) {
  const u64 elements = valid_elements(h);
  const u64 row = h.partial && h.layout.rank ? h.valid[h.layout.rank - 1] : elements;
  for (u64 first = 0; first < elements; first += row) {
    const u64 element = h.partial ? element_of(h, first) : first;
    for (u64 x = 0; x < row; x++) f(first + x, element + x);
  }
}

}  // namespace stz
