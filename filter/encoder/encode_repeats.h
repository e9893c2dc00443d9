// A lossless stream of an array whose boxes nearly repeat others (format/repeats.h): the array without these boxes, and their differences.
#pragma once
#include "base/bytes.h"
#include "base/function_ref.h"
#include "stz.h"

namespace stz {

using Encode = FunctionRef<Bytes(const stz_layout&, const u8*, const stz_options&)>;

// Empty, unless it is worth its reader: smaller than `usual`, the number of bytes of the usual stream. `encode`: makes streams without
// repeats.
Bytes stream_with_repeats(const stz_layout& layout, const u8* data, const stz_options& options, size_t usual, Encode encode);

}  // namespace stz
