// From a stream to an array.
#pragma once
#include "decoder/verify_content.h"
#include "format/layers.h"

namespace stz {

// `out` holds exactly the array's bytes (array_bytes of the header). At most `threads` (>= 1) threads work on it. `verification`: unless it
// is null, what is decoded is compared with the content check. `refinements`: no more of them are taken (format/layers.h), of streams that
// are not patched. `enhance`: false gives these without their enhancement.
void decode(const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification = nullptr,
            size_t refinements = max_refinements, bool enhance = true);

}  // namespace stz
