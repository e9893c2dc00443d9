// Decodes one block of a level.
#pragma once
#include "level_quantizers.h"
#include "mask_coder.h"

namespace stz {

// What the blocks of a level have in common.
template <class S>
struct LevelToDecode {
  const Header& header;
  const Hierarchy& hierarchy;
  size_t l;
  const Quantizer<S>& quantizer;
  ClassParameters p[16] = {};
  StencilId reach = stencil_standard;
  bool merged = false;  // one stream for all classes of a block
  // Streams: `per_block` sizes for each block, items of the batch one after the other; offsets of the first stream of each.
  u64 per_item = 0, per_block = 0;  // blocks, streams
  std::vector<u64> sizes{}, offsets{};
  const u8* streams = nullptr;
  bool with_checks = false;  // each stream is followed by its 16-bit check
  // The coarser level, all items: samples, magnitudes, mask kinds (null: nothing is masked).
  const S* coarse = nullptr;
  const u8 *coarse_magnitudes = nullptr, *coarse_kinds = nullptr;
  // This level: where the blocks go. `magnitudes` is null for level 0.
  S* grid = nullptr;
  u8 *magnitudes = nullptr, *kinds = nullptr;
  bool streaming = false;  // past the caches
};

template <class S>
class BlockDecoder {
 public:
  // `number`: of the block among those of all items.
  void decode(const LevelToDecode<S>& level, u64 number);
  std::vector<OtherSample> others;  // that were found in masks

 private:
  using Code = CodeOf<S>;
  const u8* stream(const LevelToDecode<S>& level, const u8*& at, u64 size);
  void masks(const LevelToDecode<S>& level, u64 item, const u8* data, size_t size);
  void read_bytes(const LevelToDecode<S>& level, int cls, bool coded);
  void place_bytes(const LevelToDecode<S>& level, int cls, const ClassTask<RealOf<S>>& task, u32 first, size_t& next);
  void place_block(const LevelToDecode<S>& level, int axis, S* grid);
  void codes_as_numbers(const LevelToDecode<S>& level, int cls, bool coded);

  BlockWork<S> work_;
  CodeStreamDecoder coder_;
  Buffer<u8> context_;
};

}  // namespace stz
