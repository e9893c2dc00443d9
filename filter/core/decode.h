// From a stream to an array.
#pragma once
#include "common.h"

namespace stz {

// `out` holds exactly the array's bytes (array_bytes of the header).
void decode(const u8* stream, size_t size, u8* out, size_t out_size);

}  // namespace stz
