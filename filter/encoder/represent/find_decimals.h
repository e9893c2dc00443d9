// Detects numbers that were decimals of few digits: of text, and of programs that round. Encoder only.
#pragma once
#include <optional>

#include "format/decimals.h"

namespace stz {

struct FoundDecimals {
  Decimals decimals;
  i64 largest;                  // |index|
  std::vector<u64> exceptions;  // the valid samples that are none of these decimals, such as -0
};

// Decimals that reproduce nearly all valid samples bit for bit, if they take fewer bits than the numbers. `specials`: the special values
// of the n samples, or null.
template <class S>
std::optional<FoundDecimals> find_decimals(const S* samples, const u8* specials, u64 n);

}  // namespace stz
