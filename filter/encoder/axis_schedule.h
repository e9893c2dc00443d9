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

template <class Out, class S>
AxisSchedule<Out> choose_axis_schedule(const Plan<S>& plan);

}  // namespace stz
