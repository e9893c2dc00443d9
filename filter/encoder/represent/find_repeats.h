// Finds boxes of an array that nearly equal boxes elsewhere in it, mirrored or not (format/repeats.h). Encoder only.
#pragma once
#include "encoder/plan/array.h"

namespace stz {

struct FoundRepeat {
  Patch box;
  Repeat repeat;
};

// The boxes in the order of decoding: none has an element in common with its source, with the source of an earlier box, or with another
// box. `bits`: what an element takes without repeats. Returns nothing unless the boxes promise to save a twentieth of all bits.
std::vector<FoundRepeat> find_repeats(const Array& a, double bits);

}  // namespace stz
