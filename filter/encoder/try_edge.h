// Tries edge mode where a sample of the array promises that it gives a smaller stream (encoder).
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// Whether a sample of the array promises that edge mode gives a smaller stream.
template <class S>
bool edge_mode_promises(const Plan<S>& plan);

// `sections`: the sections of the plan without edge mode. Replaces them by the sections in edge mode if these are smaller.
template <class Out, class S>
void try_edge_mode(const Plan<S>& plan, Sections<Out>& sections);

}  // namespace stz
