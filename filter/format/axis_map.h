// The role of each axis of an array in the codec. docs/format.md: Hierarchy.
#pragma once
#include "format/frame.h"

namespace stz {

// The role of an axis of the array in Header::axis_map: one of the codec's axes 0 to 3, or one of these.
constexpr u8 batch_role = 4;   // an axis of the batch
constexpr u8 merged_role = 5;  // merged with the next axis, which has the role

// The axes of the valid extent in the order of the codec's samples: first those of the batch, then the codec's axes 0 to 3.
struct CodecAxes {
  struct Axis {
    int axis;    // index in the array
    u8 role;     // batch_role or an axis of the codec; merged axes have the same role
    u64 extent;  // valid elements along the axis
    u64 stride;  // in the array, in elements
  };
  explicit CodecAxes(const Header& h);  // fails for an invalid axis map

  std::vector<Axis> order;  // slowest first
  Index n{1, 1, 1, 1};      // samples along the codec's axes
  u64 batch = 1;            // product of the extents of batch axes; complex arrays have twice as many items
};

}  // namespace stz
