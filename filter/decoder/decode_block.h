// Decodes one block of a level.
#pragma once
#include <array>

#include "decoder/code_stream_decoder.h"
#include "decoder/join_codes.h"
#include "decoder/level_directory.h"
#include "format/elements.h"
#include "masks/mask_coder.h"
#include "predict/block_rows.h"
#include "predict/edge_coder.h"
#include "predict/level_quantizers.h"

namespace stz {

// The data that the blocks of a level share.
template <class S>
struct LevelToDecode {
  const Header& header;
  const Hierarchy& hierarchy;
  size_t l;
  const Quantizer<S>& quantizer;
  const LevelDirectory& directory;
  // Of the refinements that are taken (format/layers.h), in order; null: it adds nothing to this level.
  std::array<const LevelDirectory*, max_refinements> refined{};
  size_t taken = 0;
  bool streaming = false;                  // past the caches
  bool shares_lines = false;               // blocks beside each other write the lines of memory between them together
  const SpecialBits* of_masked = nullptr;  // of level 0: what samples become where they are masked; special values are not stored then
};

constexpr int most_streams = 1 + 15;  // of a block: its mask, its parity classes

// The source and the destination of a block. Parts of grids belong to the block's item.
template <class S>
struct BlockToDecode {
  u64 number = 0;                  // among those of all items
  const u8* stream[most_streams];  // in the order of the directory; those of classes that are not wanted may be null
  std::array<std::array<const u8*, most_streams - 1>, max_refinements> refined;  // the same of refinements that are taken
  // Classes that are wanted, bit c: the c-th one. Those that they are predicted from must be among them. The samples of the others are
  // undefined afterwards, and so are those predicted from what `coarse` does not have.
  u32 wanted = all_classes;
  GridPart<const S> coarse{};                                 // of the coarser level: see load_coarse
  GridPart<const u8> coarse_activities{}, coarse_specials{};  // no special values: nothing is masked
  GridPart<S> grid{};                                         // none: activities alone are asked for
  GridPart<u8> activities{}, specials{};  // no activities: no finer level needs any; special values if anything may be masked
};

template <class S>
class BlockDecoder {
 public:
  static constexpr int most_together = CodeStreamDecoder::most_together;
  void decode(const LevelToDecode<S>& level, const BlockToDecode<S>& block) { decode(level, this, &block, 1); }
  // Up to that many blocks, all with the same wanted classes: their streams are decoded side by side.
  static void decode(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count);
  std::vector<LiteralElement> literals;  // that were found in masks

 private:
  using Code = CodeOf<S>;
  const u8* stream(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k);
  u64 size(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k) const;
  bool open_stream(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k);
  void masks(const LevelToDecode<S>& level, const BlockToDecode<S>& block);
  int axis_to_sweep(const LevelToDecode<S>& level) const;
  void prepare(const LevelToDecode<S>& level, const BlockToDecode<S>& block);
  static void decode_classes(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count, u32 wanted);
  bool read_codes(const LevelToDecode<S>& level, int cls, bool open);
  static void refine_codes(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count, size_t c);
  bool open_refined(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t r, size_t k);
  bool read_added(const LevelToDecode<S>& level, size_t r, int cls, CodeStreamDecoder::ByteClass& bytes);
  void add_bits(const LevelToDecode<S>& level, size_t r, int cls, int mean);
  void complete_class_codes(const LevelToDecode<S>& level, int cls);
  void finish_refined(const LevelToDecode<S>& level);
  void place(const LevelToDecode<S>& level, const BlockToDecode<S>& block, u32 wanted);
  static void share_lines(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count);
  void place_class(const LevelToDecode<S>& level, int cls);
  void store_for_finer_level(const BlockToDecode<S>& block);
  void place_bytes(const LevelToDecode<S>& level, int cls, const ClassTask<RealOf<S>>& task, u32 first, size_t& next);
  void place_block(const LevelToDecode<S>& level, const BlockToDecode<S>& block, u32 wanted, int axis);
  void read_numbers(const LevelToDecode<S>& level, int cls, bool coded);
  void place_numbers(const LevelToDecode<S>& level, int cls);
  void put_masked(const LevelToDecode<S>& level, const BlockToDecode<S>& block, const Planes& planes);
  void decode_edges(const LevelToDecode<S>& level, const BlockToDecode<S>& block);

  BlockWork<S> work_;
  int axis_ = -1;  // along which the block is placed plane by plane
  LineEnds<S> ends_;
  Buffer<S> lines_;
  CodeStreamDecoder coder_;
  std::vector<CodeStreamDecoder> refined_coders_;
  std::array<bool, max_refinements> refined_open_{};
  ClassCodes<Code> added_;
  CodeJoiner<Code> joiner_;
  Buffer<u8> context_, block_specials_;
  EdgeWork<S> edge_;
};

}  // namespace stz
