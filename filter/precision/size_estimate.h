// The size of a stream and its error before an array is compressed.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// Expected from samples of a large array; of a small one, or where nothing is left out, that of the stream itself.
stz_size_estimate size_estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
