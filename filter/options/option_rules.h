// The rules for options: which values each may have, and which of them exclude each other. They are checked here and nowhere else.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz {

// A rule that options break. `text` says what to do; null: they break none.
struct BrokenRule {
  int error = STZ_OK;
  const char* text = nullptr;
};

constexpr const char* rule_for_layer_bounds =
    "layer_bounds must fall and be above the bound, and layers must be one more than there are, or not given";

// How many layer bounds the options have; -1 if they are none, or do not fit the number of layers (stz.h).
int layer_bound_count(const stz_options& options);

// The first rule that connects several options and is broken. layout: of the array or chunk, or null if it is not known.
BrokenRule broken_rule(const stz_options& options, const stz_layout* layout) noexcept;

// Throws Failure if an option of stz_compress is out of range, or a rule is broken.
void require_valid_options(const stz_options& options, const stz_layout& layout);

}  // namespace stz
