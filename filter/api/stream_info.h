// The contents of a header for users.
#pragma once
#include "format/frame.h"

namespace stz {

// `levels`: the header of the stream that has the resolution levels: the base if `h` is patched, else `h` itself. The caller has checked
// that it fits `h`. `of_levels`: the first `size` bytes of that stream; its trailer is looked up if these include it.
stz_stream_info stream_info(const Header& h, const Header& levels, const u8* of_levels, size_t size);

// The same for a stream whose first `size` bytes are in memory. All bytes are needed if the form is raw or constant, or patched with such a
// base. Verifies what stz_info documents.
stz_stream_info stream_info(const u8* stream, size_t size);

}  // namespace stz
