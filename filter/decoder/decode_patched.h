// From a patched stream to an array: the base, and over it the boxes that were written later.
#pragma once
#include "decoder/verify_content.h"

namespace stz {

// `h` is the header of the stream; `out` holds exactly the array's bytes. Decodes the streams inside with decode().
void decode_patched(const Header& h, const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification);

}  // namespace stz
