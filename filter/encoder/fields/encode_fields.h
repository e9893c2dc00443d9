// Writes an array as floating-point fields (format/float_fields.h).
#pragma once
#include "encoder/fields/plan_fields.h"
#include "encoder/plan/result.h"

namespace stz {

// The stream, or its expected size from some of its blocks. `h`: the header of a raw stream.
template <class Out>
Out encode_fields(const Array& a, const Header& h, const FieldPlan& plan, int threads);

}  // namespace stz
