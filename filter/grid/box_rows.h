// The rows of a box in an array in C order: runs of elements that are contiguous in both.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Calls row(first element in the array, first element in the box, number of elements) for each row, in C order of the box. Extents must be
// positive. A scalar is one row of one element.
template <class Row>
void for_box_rows(const stz_layout& array, const u64* origin, const u64* extent, Row row) {
  const int rank = array.rank, last = rank - 1;
  u64 stride[STZ_MAX_RANK], at[STZ_MAX_RANK] = {}, size = 1, first = 0;
  for (int a = last; a >= 0; a--) {
    stride[a] = size;
    size *= array.shape[a];
    first += origin[a] * stride[a];
  }
  const u64 length = rank ? extent[last] : 1;
  for (u64 in_box = 0;; in_box += length) {
    row(first, in_box, length);
    int a = last - 1;
    for (; a >= 0; a--) {
      first += stride[a];
      if (++at[a] < extent[a]) break;
      first -= extent[a] * stride[a];
      at[a] = 0;
    }
    if (a < 0) return;
  }
}

}  // namespace stz
