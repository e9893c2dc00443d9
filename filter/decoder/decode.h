// From a stream to an array.
#pragma once
#include "decoder/verify_content.h"
#include "format/layers.h"

namespace stz {

// `out` holds exactly the array's bytes (array_bytes of the header). At most `threads` (>= 1) threads work on it. `verification`: compares
// the decoded samples with the content check; null: no comparison. `refinements`: the most that are taken (format/layers.h), for streams
// that are not patched. `enhance`: false decodes such streams without their enhancement.
void decode(const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification = nullptr,
            size_t refinements = max_refinements, bool enhance = true);

}  // namespace stz
