// Variations of the form that suited an array best (encoder).
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// Replaces sections by smaller ones with other bounds of levels, larger blocks or other fits, as far as the effort tries these.
template <class Out, class S>
void try_variations(const Plan<S>& plan, Sections<Out>& sections);

}  // namespace stz
