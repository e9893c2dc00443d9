// What a header says, for users.
#pragma once
#include "format/frame.h"

namespace stz {

// `levels`: the header of the stream inside that has the resolution levels: of the base if `h` is patched, else `h` itself. What it says
// must have been compared with `h`. `of_levels`: the first `size` bytes of that stream, for its trailer; there may be none.
stz_stream_info stream_info(const Header& h, const Header& levels, const u8* of_levels, size_t size);

// The same of a stream of which the first `size` bytes are in memory: all of them if it is of the form raw or constant, or patched with a
// base of such a form. Verifies what stz_info says it does.
stz_stream_info stream_info(const u8* stream, size_t size);

}  // namespace stz
