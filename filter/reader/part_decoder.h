// Decodes planned blocks from fetched bytes and from blocks of the coarser level.
#pragma once
#include "decoder/decode_block.h"
#include "reader/fetched.h"
#include "reader/level_blocks.h"
#include "reader/stream_sections.h"

namespace stz {

// The i-th block of the plan of an item. `coarser`: has all coarser blocks that this one needs; null: the coarser level is the base
// section.
template <class S>
struct PlannedBlock {
  const LevelPlan& plan;
  u64 i, item;
  const LevelBlocks<S>* coarser;
};

// One per thread. Buffers are reused from block to block.
template <class S>
class PartDecoder {
 public:
  typename BlockCache<S>::Block decode(const StreamSections<S>& sections, const PlannedBlock<S>& planned, const Fetched& fetched);
  // Replaces a block that cannot be decoded: it has the samples of the coarser level, and zeros elsewhere.
  typename BlockCache<S>::Block without_classes(const StreamSections<S>& sections, const PlannedBlock<S>& planned);

 private:
  void gather_coarse(const StreamSections<S>& sections, const PlannedBlock<S>& planned, const DecodedBlock<S>& decoded,
                     BlockToDecode<S>& block);

  BlockDecoder<S> decoder_;
  Buffer<S> samples_;  // gathered from the coarser level, as are the buffers below
  Buffer<u8> activities_, specials_;
  std::vector<LiteralElement> literals_;
};

}  // namespace stz
