// The range of values that a stream states (format/value_range.h). Encoder only.
#pragma once
#include "encoder/plan/request.h"
#include "format/frame.h"

namespace stz {

// The range that decoded elements keep. Samples of one sign keep it in any case. An end that no decoded element can pass is left out.
// `h`: the header before a representation is chosen. `specials`: of all samples, or null.
template <class S>
ValueRange choose_range(const Header& h, const StreamRequest& request, const S* samples, const u8* specials, u64 n);

}  // namespace stz
