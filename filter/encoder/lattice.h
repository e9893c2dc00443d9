// Finds out whether numbers sit on a lattice origin + k * delta: packed data, counts, images (encoder).
#pragma once
#include <optional>

#include "format/frame.h"

namespace stz {

struct Lattice {
  double origin, delta;
  i64 largest;  // |k|
};

// A lattice that reproduces every valid element bit for bit as origin + k * delta (in double, rounded to the dtype). `h` names the dtype;
// `bits(i)` are the bits of element i of `n`, `kinds` mask kinds or null.
template <class S>
std::optional<Lattice> find_lattice(const Header& h, const S* samples, const u8* kinds, u64 n);

}  // namespace stz
