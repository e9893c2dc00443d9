// Estimates the length of the sections of an array, from coded samples of it (encoder).
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// Does the same as code_sections, but codes whole levels only if they are coarse. It codes some boxes of finer levels, predicted from the
// samples that a decoder will have around them. The header gets the expected sizes.
template <class S>
Sections<SizeEstimate> estimate_sections(const Plan<S>& plan, const SectionForm& form);

}  // namespace stz
