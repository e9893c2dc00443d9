// What is promised of each component of a decoded array (docs/guarantees.md), judged in exact arithmetic from the bits of both arrays.
#pragma once
#include "base/element_type.h"

namespace stz {

// |x - y| <= relative |x| in exact arithmetic, for finite x other than zero and any y. Where one is more than 2^64 times the other, no is
// the answer unless rounding cannot matter.
bool within_relative(double x, double y, double relative);

struct Promise {
  i32 dtype;
  i32 mode;      // stz_mode
  double bound;  // of an absolute or a point-wise relative mode
  bool has_fill;
  u64 fill;  // its bits

  // May a component with the bits x come back with the bits y? Every NaN, infinity and fill value has to keep its bits, and no other number
  // may become one.
  bool allows(u64 x, u64 y) const;
  // The same of all `elements` of two arrays with this layout, from the first one on.
  bool allows_all(const stz_layout& layout, const u8* array, const u8* decoded, u64 elements) const;
};

}  // namespace stz
