// Arrays with options, described by a fuzzer's bytes: every dtype, byte order, shape, pattern, mask, padding, mode, bound and option.
//
// Any bytes describe a case; past their end every decision is 0. Small arrays come first and most often, so that a round trip takes
// milliseconds.
#pragma once
#include "judge.h"

namespace fuzz {

struct Case {
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  Bytes array;
  int pattern = 0, mask = 0;
};

Case make_case(const uint8_t* data, size_t size);

// All of it, for a message.
std::string describe(const Case& c);

}  // namespace fuzz
