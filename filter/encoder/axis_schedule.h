// Chooses axes that are halved at the coarse levels only (encoder).
//
// An axis along which neighbours resemble each other less than along the others (vertical, ensemble, channel) is better left whole at
// the fine levels. Candidates come from sampled residuals of 1-D cubics; a trial decides, of small arrays on the whole, which then is the
// result, of others on a part.
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

template <class Out>
struct AxisSchedule {
  AxisOffsets offset{};  // see Hierarchy::offset
  bool is_tried = false;
  Sections<Out> tried;  // of the whole array with these offsets, if they were tried on it
};

template <class Out, class S>
AxisSchedule<Out> choose_axis_schedule(const Plan<S>& plan);

}  // namespace stz
