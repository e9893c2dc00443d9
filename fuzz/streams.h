// Streams whose every part means something, and damage to them.
#pragma once
#include "fuzz_common.h"

namespace fuzz {

// The compressed stream of a small array of a random kind; of some numbers rewritten, with layers, or enhanced.
Bytes make_stream(uint64_t number);

// Flips, sets, inserts and removes a few bytes, of the header more often than others, or cuts the end off.
void mutate_bytes(Bytes& input, uint64_t random_seed);

// These bytes where nothing may be read beyond them, with the version that this library reads wherever a stream begins: a corpus outlives
// versions of the format. Versions with a low nibble of 0 stay, so that others are met too.
Bytes with_this_version(const uint8_t* data, size_t size);

}  // namespace fuzz
