// Decodes a patched stream: its base, then its patches over it.
#pragma once
#include "decoder/verify_content.h"

namespace stz {

// `h`: the header of the stream. `out` holds exactly the array's bytes. The inner streams are decoded with decode().
void decode_patched(const Header& h, const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification);

}  // namespace stz
