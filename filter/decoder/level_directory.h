// The front of a level's section, before its streams: parameters of the parity classes, sizes of all streams, check values.
#pragma once
#include "coding/checksum.h"
#include "format/frame.h"
#include "predict/parameter_coding.h"

namespace stz {

struct LevelDirectory {
  ClassParameters p[16] = {};
  StencilId reach = stencil_standard;  // the widest of the classes
  bool merged = false;                 // one stream for all classes of a block
  bool edge = false;                   // which is in edge mode
  int unknown_bits = 0;                // of its codes, which refinements may have
  // `per_block` sizes for each block, items of the batch one after the other; offsets of the first stream of each, from `begin` on.
  u64 per_item = 0, per_block = 0;  // blocks, streams
  std::vector<u64> sizes, offsets;
  bool with_checks = false;  // each stream is followed by its check
  u64 begin = 0;             // where in the section the streams begin

  u64 offset_of(u64 block) const { return per_block ? offsets[size_t(block)] : 0; }
  u64 stored_size(size_t stream) const { return sizes[stream] + (with_checks && sizes[stream] ? check_size(sizes[stream]) : 0); }
};

// The section of a level: `size` bytes, of which the first `available` are at `data`, and the first `present` in the source. There may be
// less than there should be: of a prefix of a stream, what is there can be read.
struct LevelSection {
  const u8* data;
  u64 available, present, size;
};

// Fails unless the section of a level, or of a refinement of one, which is there as a whole, has the check that its front says. Takes no
// memory, and makes nothing of what is there.
void verify_section(const u8* section, u64 size);

// Reads the directory of the section of level l and checks it; nothing of it is used before. Returns 0, or how many bytes it takes, more
// than are available and at most the section: then nothing has changed. `state` passes from level to level, coarse to fine.
u64 read_directory(const Header& h, const Hierarchy& hierarchy, size_t l, const LevelSection& section, ParameterState& state,
                   LevelDirectory& directory);

// The same of the section of a refinement of level l. `of_level`: the directory of the level's own section.
u64 read_refined_directory(const Header& h, const Hierarchy& hierarchy, size_t l, size_t refinement, const LevelDirectory& of_level,
                           const LevelSection& section, ParameterState& state, LevelDirectory& directory);

}  // namespace stz
