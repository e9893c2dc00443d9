// Decodes a stream to an array.
#pragma once
#include "decoder/verify_content.h"
#include "format/layers.h"

namespace stz {

// `out` holds exactly the array's bytes (array_bytes of the header). Uses at most `threads` (>= 1) threads. `verification`: compares
// decoded samples with the content check; null: no comparison. `refinements`: the most that are used (format/layers.h), unless the stream
// is patched. `enhance`: false leaves out the enhancement, unless the stream is patched.
void decode(const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification = nullptr,
            size_t refinements = max_refinements, bool enhance = true);

}  // namespace stz
