// What an encoder returns: bytes, or their expected number where nothing is written (Header::estimate).
#pragma once
#include "base/bytes.h"

namespace stz {

struct Encoded {
  Bytes bytes;
  double expected = 0;  // of an estimate: the number of bytes
  double variance = 0;  // of that number, as far as the differences between sampled boxes tell it
  // And the mean squared difference between samples and what they are decoded to; negative: not known, as all of it was coded.
  double squared_error = -1;

  bool empty() const { return bytes.empty() && expected == 0; }
  double size() const { return bytes.empty() ? expected : double(bytes.size()); }
};

}  // namespace stz
