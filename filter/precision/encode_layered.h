// Encodes an array in precision layers whose errors are measured.
#pragma once
#include "base/bytes.h"
#include "format/frame.h"

namespace stz {

// As encode(), enhanced if the options say so. If the stream has layers, every one of them is decoded once and compared with the array.
Bytes encode_layered(const stz_layout& layout, const u8* data, const stz_options& options);

// The distance of the valid components of two arrays: the largest distance, rounded up, and the root of the mean square. Valid components
// are finite and not the fill value of the header.
LayerError difference(const Header& h, const u8* array, const u8* other);

}  // namespace stz
