// Encodes an array with precision layers and measures their errors.
#pragma once
#include "base/bytes.h"
#include "format/frame.h"

namespace stz {

// As encode_whole(), with an enhancement if the options ask for it. If the stream has layers, each is decoded once and compared with the
// array.
Bytes encode_layered(const stz_layout& layout, const u8* data, const stz_options& options);

// The errors of `other` against `array`: the largest, rounded up, and the root mean square. Components that are not finite, or have the
// header's fill value, are left out.
LayerError difference(const Header& h, const u8* array, const u8* other);

}  // namespace stz
