// Boxes that cover the changed elements of an array.
#pragma once
#include <vector>

#include "rewrite/changes.h"

namespace stz {

struct ChangedBox {
  u64 origin[STZ_MAX_RANK], extent[STZ_MAX_RANK];
  // elements in the wanted state, and elements in the opposite state (fresh and kept are opposites)
  u64 wanted, others;
};

// Returns disjoint boxes, at most `most`, that together hold every element in state `wanted`. A box is cut where several adjacent planes
// across an axis hold no such element (the signatures of Berger and Rigoutsos 1991). Narrower gaps are not cut, because each patch costs a
// header.
std::vector<ChangedBox> boxes_of(const stz_layout& layout, const Changes& changes, Change wanted, size_t most);

}  // namespace stz
