// A lossless stream of an array some of whose boxes nearly equal others (format/repeats.h): the array without these boxes, and their
// differences from the others.
#pragma once
#include "base/bytes.h"
#include "base/function_ref.h"
#include "stz.h"

namespace stz {

using Encode = FunctionRef<Bytes(const stz_layout&, const u8*, const stz_options&)>;

// Empty unless this stream is smaller, by 1 % or more, than the stream without repeats, which has `usual` bytes. `encode` makes streams
// without repeats.
Bytes stream_with_repeats(const stz_layout& layout, const u8* data, const stz_options& options, size_t usual, Encode encode);

}  // namespace stz
