// Adds content checks to streams that were written without one.
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

// Whether every stream of form blocks in it, including those of patches, has a content check.
bool has_content_check(const u8* stream, size_t size);

// Returns the same stream with content checks wherever one is possible and missing. The CRCs are those of what this decoder decodes;
// samples are not encoded again. The result may exceed stz_max_compressed_size.
Bytes with_content_check(const u8* stream, size_t size, int threads);

}  // namespace stz
