// The stream of the numbers of an array in the representation that is smallest under its bound (encoder).
#pragma once
#include "encoder/plan/array.h"
#include "encoder/plan/request.h"
#include "encoder/plan/result.h"

namespace stz {

// Readers before 1.1 cannot read some forms. Those are used if they have at most this share of the bytes of others.
constexpr double worthwhile_share = 0.99;

// The stream has the form `blocks`, and is empty if the format cannot hold it. `h`: layout, mode, bound, fill value, valid extent and axis
// map.
template <class Out>
Out smallest_stream(const Array& a, const Header& h, const StreamRequest& request);

}  // namespace stz
