// The front of a level's section, before its streams: parameters of the parity classes, sizes of all streams, and the check.
#pragma once
#include "coding/checksum.h"
#include "format/frame.h"
#include "predict/parameter_coding.h"

namespace stz {

struct LevelDirectory {
  ClassParameters p[16] = {};
  StencilId reach = stencil_standard;  // the widest stencil of the classes
  bool merged = false;                 // one stream for all classes of a block
  bool edge = false;                   // these streams are in edge mode
  int unknown_bits = 0;                // number of lowest bits of codes that are left to refinements
  // `sizes`: per_block for each block, item by item. `offsets`: of the first stream of each block, relative to `begin`.
  u64 per_item = 0, per_block = 0;  // number of blocks; number of streams
  std::vector<u64> sizes, offsets;
  bool with_checks = false;  // each stream is followed by its check
  u64 begin = 0;             // offset of the first stream in the section

  u64 offset_of(u64 block) const { return per_block ? offsets[size_t(block)] : 0; }
  u64 stored_size(size_t stream) const { return sizes[stream] + (with_checks && sizes[stream] ? check_size(sizes[stream]) : 0); }
};

// The section of a level: `size` bytes. The first `available` are at `data`; the source has the first `present`, which are fewer if it is a
// prefix of a stream.
struct LevelSection {
  const u8* data;
  u64 available, present, size;
};

// Verifies the check of a complete section of a level or of a refinement. Nothing is decoded and no memory is allocated.
void verify_section(const u8* section, u64 size);

// Reads the directory of the section of level l. Its check is verified before anything is used. Returns 0, or the number of bytes needed if
// more than `available` (at most the section): then nothing has changed. `state` passes from level to level, coarse to fine.
u64 read_directory(const Header& h, const Hierarchy& hierarchy, size_t l, const LevelSection& section, ParameterState& state,
                   LevelDirectory& directory);

// The same for the section of a refinement of level l. `of_level`: the directory of the level's own section.
u64 read_refined_directory(const Header& h, const Hierarchy& hierarchy, size_t l, size_t refinement, const LevelDirectory& of_level,
                           const LevelSection& section, ParameterState& state, LevelDirectory& directory);

}  // namespace stz
