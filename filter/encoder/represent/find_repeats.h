// Finds boxes of an array that are nearly boxes elsewhere in it, mirrored or not (format/repeats.h). Encoder only.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

struct FoundRepeat {
  Patch box;
  Repeat repeat;
};

// In the order of decoding: the elements that a box comes from are in no later one. Boxes do not lie over each other. `bits`: what an
// element takes otherwise. Nothing is returned unless the boxes promise to save a part of them.
std::vector<FoundRepeat> find_repeats(const Array& a, double bits);

}  // namespace stz
