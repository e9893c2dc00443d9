// Encodes all sections of one array of samples, coarse to fine.
#pragma once
#include "encoder/level_source.h"

namespace stz {

// `samples`: all items of the batch, C order; `specials`: their special values (null: nothing is masked); `literals`: the bits of samples
// of kind special_literal, by rising index. Fills h.section; returns the sections one after the other. At most `threads` (>= 1) threads
// work on it; the bytes do not depend on how many. `edge`: all levels below the base level in edge mode. Returns nothing if an index would
// pass a limit of the format.
template <class S>
Bytes encode_sections(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, int threads,
                      bool edge = false);

// The sections of each refinement (format/layers.h), coarse to fine.
struct RefinementSections {
  explicit RefinementSections(size_t refinements) : bytes(refinements), sizes(refinements) {}
  std::vector<Bytes> bytes;
  std::vector<std::vector<u64>> sizes;
};

// Encodes level l and appends its section to `out`; `state` passes from the coarser level to this one. `checks`: takes the CRCs of the
// blocks of level 0, or null. `refinements`: takes those of the level, or null if the header has no layers. False if an index has more
// sizes than a decoder accepts.
template <class S>
bool encode_level(LevelSource<S>& source, LevelState<S>& state, size_t l, bool edge, u32* checks, int threads, Bytes& out,
                  RefinementSections* refinements = nullptr);

}  // namespace stz
