// Fits an enhancement (format/enhancement.h) to a stream, and puts it there if it is worth its bytes.
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

// `stream` is what encode() made of the array; it stays as it is if no enhancement pays or none is possible.
void enhance_stream(const stz_layout& layout, const u8* data, const stz_options& options, Bytes& stream);

}  // namespace stz
