// The promise for each component of a decoded array (docs/guarantees.md), tested in exact arithmetic on the bits of both arrays.
#pragma once
#include "base/element_type.h"

namespace stz {

// Whether |x - y| <= relative |x| in exact arithmetic, for finite nonzero x and any y. If one is more than 2^64 times the other, the answer
// is false unless rounding cannot matter.
bool within_relative(double x, double y, double relative);

struct Promise {
  i32 dtype;
  i32 mode;      // stz_mode
  double bound;  // for an absolute or a point-wise relative mode
  bool has_fill;
  u64 fill;  // bits of the fill value
  bool keep_zeros = false;

  // Whether a component with bits x may be decoded to bits y. NaN, infinities and fill values must keep their bits, and no other number may
  // become one of them. Zeros must keep theirs with keep_zeros.
  bool allows(u64 x, u64 y) const;
  // The same for the first `elements` elements of two arrays with this layout.
  bool allows_all(const stz_layout& layout, const u8* array, const u8* decoded, u64 elements) const;
};

}  // namespace stz
