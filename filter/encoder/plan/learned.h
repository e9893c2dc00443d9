// Predictions that were fitted to earlier arrays, for arrays that resemble them. Encoder only: a stream contains all of its parameters.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "format/frame.h"
#include "predict/parameters.h"

namespace stz {

using AxisOffsets = std::array<int, axes>;  // as Header::offset

// The prediction of a parity class, and whether its codes were bytes.
struct LearnedClass {
  Prediction prediction;
  bool as_bytes = false;
};

struct LearnedLevel {
  int active_mask = 0, split_mask = 0;  // with other masks a class has other neighbours
  LearnedClass of_class[16];            // by class mask
};

// What one array was encoded with.
struct LearnedSet {
  SampleType sample = SampleType::f32;
  QuantizerKind quantizer = QuantizerKind::uniform;
  Transform transform = Transform::none;
  unsigned late_axes = 0;      // the axes that were candidates for offsets, as a mask
  bool edge_promised = false;  // a sample promised that edge mode would be smaller
  AxisOffsets offset{};
  bool edge = false;                // edge mode was smaller; the predictions are still those of the trial without it
  std::vector<LearnedLevel> level;  // level 0 first; the base level and coarser ones have none
  double bytes = 0;                 // the length of the array's stream

  bool is_of(const Header& h) const { return sample == h.sample && quantizer == h.quantizer && transform == h.transform; }
};

using LearnedSets = std::vector<std::shared_ptr<const LearnedSet>>;

// The sets as bytes. Oldest ones are left out if there would be more than `most_bytes`.
Bytes write_sets(const LearnedSets& sets, size_t most_bytes);
// Reads what write_sets() wrote. Fails if the bytes are damaged.
LearnedSets read_sets(const u8* bytes, size_t size);

}  // namespace stz
