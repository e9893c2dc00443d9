// Chooses axes that are halved at the coarse levels only (encoder).
//
// An axis along which neighbours resemble each other less than along the others (vertical, ensemble, channel) is better left whole at
// the fine levels. Sampled residuals of 1-D cubics give the candidates, and a trial decides. The trial of a small array encodes all of it
// and is the result; the trial of a larger array encodes a part.
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

template <class Out>
struct AxisSchedule {
  AxisOffsets offset{};  // see Hierarchy::offset
  bool is_tried = false;
  Sections<Out> tried;  // sections of the whole array with these offsets, if they were tried on it
};

// The axes by decreasing cost. The first `candidates` of them may be better left unsplit at the fine levels.
struct RankedAxes {
  std::array<size_t, axes> axis = {0, 1, 2, 3};
  size_t candidates = 0;
  unsigned mask() const {
    unsigned all = 0;
    for (size_t rank = 0; rank < candidates; rank++) all |= 1u << axis[rank];
    return all;
  }
};

template <class S>
RankedAxes rank_axes(const Plan<S>& plan);

template <class Out, class S>
AxisSchedule<Out> choose_axis_schedule(const Plan<S>& plan, const RankedAxes& ranked);

}  // namespace stz
