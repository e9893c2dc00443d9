// Chooses which axes of an array become axes of the codec if the last four are not the best choice: vectors and tensors, many short axes.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

// The map for Header::axis_map; empty if the default is kept. `h` has the valid extent and the requested mode, bound and fill value.
std::vector<u8> choose_axis_map(const Array& a, const Header& h);

}  // namespace stz
