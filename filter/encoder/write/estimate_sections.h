// How long the sections of an array will be, without coding more of it than samples (encoder).
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// As code_sections, but only coarse levels are coded as a whole; of the finer ones some boxes are, predicted from what a decoder will
// have around them. The header gets the expected sizes.
template <class S>
Sections<SizeEstimate> estimate_sections(const Plan<S>& plan, const SectionForm& form);

}  // namespace stz
