// A stream without its last precision layers, made by copying bytes.
#pragma once
#include "base/bytes.h"

namespace stz {

// The stream with as few layers as keep every component within `max_error` of what was compressed (refinements_for); it says in its header
// that its bound is absolute, and how large. Of a patched stream the base loses layers. The stream as it is, if nothing can be dropped.
Bytes drop_layers(const u8* stream, size_t size, double max_error);

}  // namespace stz
