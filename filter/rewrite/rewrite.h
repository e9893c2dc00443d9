// Compressing an array that came out of a stream and was changed in part, so that no element loses its bound twice: what has kept its bits
// keeps them again, what has other bits gets its bound.
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

// See stz_rewrite. Never longer than the array + 64 bytes. The shortest of:
// - the old stream with patches over it, for what was changed;
// - a new stream, with patches without loss over it, for what was kept;
// - a stream without loss.
Bytes rewrite(const stz_layout& layout, const u8* data, const stz_options& options, const u8* previous, size_t previous_size);

}  // namespace stz
