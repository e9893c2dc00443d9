// Compressing an array that came out of a stream and was changed in part, so that no element loses its bound twice: what has kept its bits
// keeps them again, what has other bits gets its bound.
#pragma once
#include "base/bytes.h"
#include "precision/check_stream.h"
#include "stz.h"

namespace stz {

// See stz_rewrite. Never longer than the array + 64 bytes. If less than half was kept: a new stream, where everything that was kept comes
// back from it. Else the shortest of:
// - the old stream with patches over it, for what was changed;
// - a new stream, with patches without loss over it, for what was kept and does not come back from it;
// - a stream without loss.
// `candidates`: streams out of which the array may have come, at most most_candidates: see stz_rewrite_any.
constexpr size_t most_candidates = STZ_MAX_CANDIDATES;
Bytes rewrite(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& candidates);

}  // namespace stz
