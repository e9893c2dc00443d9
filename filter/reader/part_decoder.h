// Decodes the blocks of a plan from fetched bytes and from blocks of the coarser level.
#pragma once
#include "decoder/decode_block.h"
#include "reader/fetched.h"
#include "reader/level_blocks.h"
#include "reader/stream_sections.h"

namespace stz {

// The i-th block of the plan of an item. `coarser`: blocks that have all that this one needs; null: it needs the base section.
template <class S>
struct PlannedBlock {
  const LevelPlan& plan;
  u64 i, item;
  const LevelBlocks<S>* coarser;
};

// For one thread: it keeps its buffers from block to block.
template <class S>
class PartDecoder {
 public:
  typename BlockCache<S>::Block decode(const StreamSections<S>& sections, const PlannedBlock<S>& planned, const Fetched& fetched);
  // In place of a block that cannot be decoded: what it has of the coarser level, and zeros.
  typename BlockCache<S>::Block without_classes(const StreamSections<S>& sections, const PlannedBlock<S>& planned);

 private:
  void gather_coarse(const StreamSections<S>& sections, const PlannedBlock<S>& planned, const DecodedBlock<S>& decoded,
                     BlockToDecode<S>& block);

  BlockDecoder<S> decoder_;
  Buffer<S> samples_;  // this and what follows: of the coarser level
  Buffer<u8> activities_, specials_;
  std::vector<LiteralElement> literals_;
};

}  // namespace stz
