// The interface of the kernels that put remainders (format/remainders.h) into numbers of 32 or 64 bits.
#pragma once
#include "base/common.h"

namespace stz {

struct RemainderForm {
  double step, inverse;  // S, a power of two from 2^-126 or 2^-1022 on, and 1 / S
  int mantissa, zero_bits;
  u64 exponent_of_step, all_ones;  // exponent fields
  u64 fill;
  bool has_fill;
};
template <class U>
struct RemainderKernels {
  // Replaces n numbers by the nearest multiples of the step, and sets the bits below it of those that are not small. The bits come from
  // `bits`, `size` bytes, from bit `at` on; zeros follow their end. Infinities, NaNs and the fill value stay as they are. `small` has room
  // for n places of small numbers, which become 0, and *smalls gets their number. Returns the bit behind the last one. Reads and writes
  // exactly, but `small` up to n.
  u64 (*add)(const u8* bits, u64 size, u64 at, U* x, size_t n, const RemainderForm& form, u32* small, size_t* smalls);
};

}  // namespace stz
