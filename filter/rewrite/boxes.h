// Boxes that hold the changed elements of an array.
#pragma once
#include <vector>

#include "rewrite/changes.h"

namespace stz {

struct ChangedBox {
  u64 origin[STZ_MAX_RANK], extent[STZ_MAX_RANK];
  u64 wanted, others;  // elements in the wanted state, and in the opposite one (fresh and kept are opposites)
};

// Boxes, disjoint and at most `most`, that together hold every element in state `wanted`. A box is cut where several neighbouring planes
// across an axis hold none (the signatures of Berger and Rigoutsos 1991), not for less: each patch costs a header.
std::vector<ChangedBox> boxes_of(const stz_layout& layout, const Changes& changes, Change wanted, size_t most);

}  // namespace stz
