// Chooses which axes of an array are the codec's where the last four are not the best choice: vectors and tensors, many short axes.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

// The map for Header::axis_map; empty where the default is kept. `h` has the valid extent, and what was asked for.
std::vector<u8> choose_axis_map(const Array& a, const Header& h);

}  // namespace stz
