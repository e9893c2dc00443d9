// The result of encoding: a stream, or its expected size if nothing is written (encoder). Functions that choose among representations take
// either as their parameter `Out`.
#pragma once
#include <limits>

#include "encoder/plan/learned.h"

namespace stz {

struct Stream {
  Bytes bytes;
  bool is_learned = false;                      // it took predictions of earlier arrays
  std::shared_ptr<const LearnedSet> learned;    // else: what was fitted to the array; null: nothing was
  bool empty() const { return bytes.empty(); }  // the format cannot hold the stream
  double size() const { return double(bytes.size()); }
};

struct SizeEstimate {
  double bytes = 0;
  double variance = 0;  // variance of the estimated number, from the differences between sampled boxes
  // The mean squared difference between samples and decoded samples; negative: not known, as the whole array was coded.
  double squared_error = -1;
  bool empty() const { return bytes == 0; }
  double size() const { return bytes; }
};

// The choices that may be tried once the representation of samples is fixed.
struct SectionForm {
  AxisOffsets offset{};
  bool edge = false;  // all levels below the base level are in edge mode
  // A trial is given up if the sections of the levels above 0 take more bytes.
  double most_coarse = std::numeric_limits<double>::infinity();
  const LearnedSets* learned = nullptr;  // predictions to choose from; null: they are fitted
  double level_ratio = 0;                // of the bounds of a level and the next finer one; 0: that of the plan
  int larger_blocks = 0;                 // blocks have 2^larger_blocks times the default extent along each axis
  int effort = 0;                        // of fits; 0: that of the plan
};

// The sections of a plan.
template <class Out>
struct Sections {
  Header header;  // the plan's header, with offsets, layers and the sizes of these sections
  Out out;        // the sections, one after the other; empty: an index would exceed a limit of the format
  std::vector<u32> content_checks;
  LearnedSet learned;

  bool empty() const { return out.empty(); }
  double size() const { return out.size(); }
};

template <class T>
void keep_smaller(T& best, T candidate) {
  if (best.empty() || (!candidate.empty() && candidate.size() < best.size())) best = std::move(candidate);
}

}  // namespace stz
