// Encodes the numbers of an array as blocks, in the representation that is smallest under its bound (encoder only).
#pragma once
#include "encoder/array.h"
#include "encoder/encoded.h"

namespace stz {

// A whole stream of form `blocks`, or an estimate of its size. `h` holds layout, mode, bound, fill value and valid extent. At most
// `threads` (>= 1) threads work on it; the bytes do not depend on how many.
Encoded encode_numbers(const Array& a, const Header& h, int threads);

}  // namespace stz
