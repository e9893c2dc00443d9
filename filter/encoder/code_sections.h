// The sections of one array of samples, coarse to fine (encoder).
#pragma once
#include "encoder/estimate_sections.h"
#include "encoder/level_source.h"

namespace stz {

// At most plan.threads threads work on it; the bytes do not depend on how many.
template <class S>
Sections<Stream> code_sections(const Plan<S>& plan, const SectionForm& form);

// The sections, or their expected size.
template <class Out, class S>
Sections<Out> sections_of(const Plan<S>& plan, const SectionForm& form) {
  if constexpr (std::is_same_v<Out, Stream>)
    return code_sections(plan, form);
  else
    return estimate_sections(plan, form);
}

}  // namespace stz
