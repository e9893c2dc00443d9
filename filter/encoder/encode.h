// From an array to a stream.
#pragma once
#include "encoder/encoded.h"
#include "stz.h"

namespace stz {

// The stream of an array; never longer than the array + 64 bytes.
Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options);
// Its expected size and error; the error is not known where nothing is left out.
Encoded estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
