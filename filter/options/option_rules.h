// The rules for options: allowed values, and combinations that exclude each other. They are checked only here.
#pragma once
#include "base/common.h"
#include "base/message.h"
#include "stz.h"

namespace stz {

constexpr const char* rule_for_layer_bounds =
    "layer_bounds must fall and be above the bound; leave layers out, or set it to one more than the number of layer_bounds";

// The number of layer bounds in the options; -1 if they are invalid or do not fit the number of layers (stz.h).
int layer_bound_count(const stz_options& options);

// Whether options.valid_range is given.
inline bool has_valid_range(const stz_options& options) { return options.valid_range[0] != 0 || options.valid_range[1] != 0; }

// Checks the rules that connect several options. Returns STZ_OK, or the error of the first broken rule with a `message` on how to fix it.
// layout: of the array or chunk; null if unknown.
int check_rules(const stz_options& options, const stz_layout* layout, Message& message) noexcept;

// Throws Failure if an option of stz_compress is out of range, or a rule is broken.
void require_valid_options(const stz_options& options, const stz_layout& layout);

}  // namespace stz
