// What encoding gives: a stream, or its expected size where nothing is written (encoder). All that chooses among representations takes
// either as its parameter `Out`.
#pragma once
#include "format/frame.h"

namespace stz {

struct Stream {
  Bytes bytes;
  bool empty() const { return bytes.empty(); }  // the format cannot hold it
  double size() const { return double(bytes.size()); }
};

struct SizeEstimate {
  double bytes = 0;
  double variance = 0;  // of that number, as far as the differences between sampled boxes tell it
  // The mean squared difference between samples and what they are decoded to; negative: not known, as all of it was coded.
  double squared_error = -1;
  bool empty() const { return bytes == 0; }
  double size() const { return bytes; }
};

using AxisOffsets = std::array<int, axes>;  // as Header::offset

// What may be tried in different ways once samples are represented.
struct SectionForm {
  AxisOffsets offset{};
  bool edge = false;  // all levels below the base level are in edge mode
};

// The sections of a plan.
template <class Out>
struct Sections {
  Header header;  // of the plan, with offsets, layers and the sizes of these sections
  Out out;        // one after the other; empty: an index would pass a limit of the format
  std::vector<u32> content_checks;

  bool empty() const { return out.empty(); }
  double size() const { return out.size(); }
};

template <class T>
void keep_smaller(T& best, T candidate) {
  if (best.empty() || (!candidate.empty() && candidate.size() < best.size())) best = std::move(candidate);
}

}  // namespace stz
