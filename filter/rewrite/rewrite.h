// Compresses an array that was decoded from a stream and then changed in part. No element loses precision twice: unchanged elements keep
// their bits, changed elements get the bound.
#pragma once
#include "base/bytes.h"
#include "precision/check_stream.h"
#include "stz.h"

namespace stz {

// See stz_rewrite_any. The result never exceeds the size of the array plus 64 bytes. If less than half of the elements were kept, and a new
// stream reproduces all of these, the result is the new stream. Otherwise it is the shortest of
// - the old stream, with patches for the changed elements;
// - a new stream, with lossless patches for the kept elements that it does not reproduce;
// - a lossless stream.
// candidates: streams that the array may have been decoded from, at most STZ_MAX_CANDIDATES.
Bytes rewrite(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& candidates);

}  // namespace stz
