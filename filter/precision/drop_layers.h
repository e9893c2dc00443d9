// Removes the last precision layers of a stream by copying bytes.
#pragma once
#include "base/bytes.h"

namespace stz {

// Returns the stream with the fewest layers that keep every component within `max_error` of what was compressed first (refinements_for).
// Its header then states that absolute bound. Of a patched stream, the base loses layers. If nothing can be dropped, the stream is returned
// unchanged.
Bytes drop_layers(const u8* stream, size_t size, double max_error);

}  // namespace stz
