// From a plan to a stream of form `blocks`: the axis schedule, the sections, edge mode, the trailer, the header (encoder).
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// Returns an empty stream if the format cannot hold it.
template <class Out, class S>
Out make_stream(const Plan<S>& plan);

}  // namespace stz
