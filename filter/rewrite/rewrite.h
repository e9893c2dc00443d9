// Compressing an array that came out of a stream and was changed in part, so that no element loses its bound twice: what has kept its bits
// keeps them again, what has other bits gets its bound.
#pragma once
#include "base/bytes.h"
#include "precision/check_stream.h"
#include "stz.h"

namespace stz {

// See stz_rewrite_any. Never longer than the array + 64 bytes. If less than half was kept, and all of it comes back from a new stream, the
// result is the new stream. Else it is the shortest of:
// - the old stream, with patches for what was changed;
// - a new stream, with lossless patches for what was kept and does not come back from it;
// - a lossless stream.
// candidates: streams out of which the array may have come, at most most_candidates.
constexpr size_t most_candidates = STZ_MAX_CANDIDATES;
Bytes rewrite(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& candidates);

}  // namespace stz
