// Chooses axes that are halved at the coarse levels only, and encodes with them (encoder).
//
// An axis along which neighbours resemble each other less than along the others (vertical, ensemble, channel) is better left whole at
// the fine levels. Candidates come from sampled residuals of 1-D cubics; a trial decides, of small arrays on the whole, which then is the
// result, of others on a part.
#pragma once
#include "base/bytes.h"
#include "encoder/encoded.h"
#include "format/frame.h"
#include "format/mask_coder.h"

namespace stz {

// encode_sections with the best axis offsets, which h.offset gets (see Hierarchy::offset). `unit`: half a quantisation step.
template <class S>
Encoded encode_with_axis_schedule(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, double unit,
                                  int threads);

}  // namespace stz
