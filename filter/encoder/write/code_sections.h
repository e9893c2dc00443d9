// The sections of one array of samples, coarse to fine (encoder).
#pragma once
#include "encoder/block/level_source.h"
#include "encoder/write/estimate_sections.h"

namespace stz {

// At most plan.threads threads work on it; the bytes do not depend on their number.
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
