// From a stream to an array.
#pragma once
#include "base/common.h"

namespace stz {

// `out` holds exactly the array's bytes (array_bytes of the header). At most `threads` (>= 1) threads work on it.
void decode(const u8* stream, size_t size, u8* out, size_t out_size, int threads);

}  // namespace stz
