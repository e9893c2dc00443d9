// Content checks for streams that were written without one.
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

// Whether every stream of the form blocks in it, those of patches too, has a content check.
bool has_content_check(const u8* stream, size_t size);

// The same stream with a content check wherever one can be and is none: of what this decoder makes of it. Samples are not encoded again.
// The result may be longer than stz_max_compressed_size.
Bytes with_content_check(const u8* stream, size_t size, int threads);

}  // namespace stz
