// The rules for options: which values each may have, and which of them exclude each other. They are checked here and nowhere else.
#pragma once
#include "base/common.h"
#include "base/message.h"
#include "stz.h"

namespace stz {

constexpr const char* rule_for_layer_bounds =
    "layer_bounds must fall and be above the bound, and layers must be one more than there are, or not given";

// How many layer bounds the options have; -1 if they are none, or do not fit the number of layers (stz.h).
int layer_bound_count(const stz_options& options);

// STZ_OK, or the error of the first rule that connects several options and is broken; then `message` says what to do. layout: of the array
// or chunk, or null if it is not known.
int check_rules(const stz_options& options, const stz_layout* layout, Message& message) noexcept;

// Throws Failure if an option of stz_compress is out of range, or a rule is broken.
void require_valid_options(const stz_options& options, const stz_layout& layout);

}  // namespace stz
