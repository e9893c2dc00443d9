// The role of each axis of an array in the codec. docs/format.md: Hierarchy.
#pragma once
#include "format/frame.h"

namespace stz {

// The role of an axis of the array in Header::axis_map: one of the codec's axes 0 to 3, or
constexpr u8 batch_role = 4;   // an axis of the batch
constexpr u8 merged_role = 5;  // one axis together with the next, which says of what role

// The axes of the valid extent in the order of the codec's samples: those of the batch, then those that are the codec's axes 0 to 3.
struct CodecAxes {
  struct Axis {
    int axis;    // of the array
    u8 role;     // batch_role or an axis of the codec; axes that are merged have the same
    u64 extent;  // valid elements
    u64 stride;  // in the array, elements
  };
  explicit CodecAxes(const Header& h);  // fails for a map that no header may have

  std::vector<Axis> order;  // slowest first
  Index n{1, 1, 1, 1};      // samples along the codec's axes
  u64 batch = 1;            // product of the extents of the batch; complex numbers have twice as many items
};

}  // namespace stz
