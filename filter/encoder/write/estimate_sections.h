// Estimates the size of the sections of an array by coding a part of its samples. Encoder only.
#pragma once
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"

namespace stz {

// Does the same as code_sections, but codes only coarse levels as a whole. Of finer levels it codes some boxes, which are predicted from
// the samples that a decoder would have around them. The header gets the expected sizes.
template <class S>
Sections<SizeEstimate> estimate_sections(const Plan<S>& plan, const SectionForm& form);

}  // namespace stz
