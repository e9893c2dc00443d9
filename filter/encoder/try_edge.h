// Tries edge mode where a sample of the array promises that it gives a smaller stream (encoder).
#pragma once
#include "base/bytes.h"
#include "encoder/encoded.h"
#include "format/frame.h"
#include "format/mask_coder.h"

namespace stz {

// `sections`: what encode_with_axis_schedule has made of the array with header h; both become those in edge mode if these are smaller.
// `unit`: half a quantisation step.
template <class S>
void try_edge_mode(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, double unit, int threads,
                   Encoded& sections);

}  // namespace stz
