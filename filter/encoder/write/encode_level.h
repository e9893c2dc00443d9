// Encodes a level from the reconstruction of the coarser one (encoder).
#pragma once
#include "encoder/block/level_source.h"

namespace stz {

// The sections of each refinement (format/layers.h), coarse to fine.
struct RefinementSections {
  explicit RefinementSections(size_t refinements) : bytes(refinements), sizes(refinements) {}
  std::vector<Bytes> bytes;
  std::vector<std::vector<u64>> sizes;
};

// Encodes level l and appends its section to `out`. `state`: the coarser level; becomes this level. `checks`: gets the CRCs of the blocks
// of level 0; may be null. `refinements`: gets the refinements of the level; null if the header has no layers. `learned`: gets the
// predictions; may be null. False if an index has more sizes than a decoder accepts.
template <class S>
bool encode_level(LevelSource<S>& source, LevelState<S>& state, size_t l, bool edge, u32* checks, int threads, Bytes& out,
                  RefinementSections* refinements = nullptr, LearnedLevel* learned = nullptr);

}  // namespace stz
