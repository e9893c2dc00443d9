// Fits an enhancement (format/enhancement.h) to a stream, and adds it if it is worth its bytes.
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

// `stream` is the result of encode() for the array. It stays unchanged if no enhancement is possible or worthwhile.
void enhance_stream(const stz_layout& layout, const u8* data, const stz_options& options, Bytes& stream);

}  // namespace stz
