// Streams with remainders (format/remainders.h).
#pragma once
#include "encoder/plan/request.h"
#include "encoder/plan/result.h"
#include "encoder/represent/cut_numbers.h"

namespace stz {

// The stream of an array as multiples of `step`, a power of two, and their remainders; empty if the format cannot hold it. `h`: layout,
// valid extent, axis map and fill value.
template <class Out>
Out stream_with_remainders(const Array& a, const Header& h, const StreamRequest& request, double step);

}  // namespace stz
