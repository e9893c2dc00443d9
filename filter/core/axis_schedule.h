// Chooses axes that are halved at the coarse levels only (encoder).
//
// An axis along which neighbours resemble each other less than along the others (vertical, ensemble, channel) is better left whole at
// the fine levels. Candidates come from sampled residuals of 1-D cubics; a trial on a part of the array decides.
#pragma once
#include "frame.h"

namespace stz {

// Axis offsets for `h` (see Hierarchy::offset). `kinds`: mask kinds or null. `unit`: half a quantisation step. `threads`: for
// the trials, as of encode_sections.
template <class S>
std::array<int, axes> choose_axis_offsets(const Header& h, const S* samples, const u8* kinds, double unit, int threads);

}  // namespace stz
