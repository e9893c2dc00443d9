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
  // One for each refinement in use (format/layers.h), in order; null: it adds no bits to this level.
  std::array<const LevelDirectory*, max_refinements> refined{};
  size_t taken = 0;
  bool streaming = false;     // write samples past the caches
  bool shares_lines = false;  // adjacent blocks write the cache lines between them together
  // Level 0: the bits that masked samples get. Special values are then not stored. May be null.
  const SpecialBits* of_masked = nullptr;
  const Limits<S>* limits = nullptr;  // level 0: samples beyond them are brought to them in the grid. May be null
};

constexpr int most_streams = 1 + 15;  // of a block: its mask and its parity classes

// The input and output of a block. Parts of grids belong to the block's item.
template <class S>
struct BlockToDecode {
  u64 number = 0;                  // number among the blocks of all items
  const u8* stream[most_streams];  // in the order of the directory; null for classes that are not wanted
  std::array<std::array<const u8*, most_streams - 1>, max_refinements> refined;  // the same for the refinements in use
  // Bit c: the c-th class is wanted. All classes that a wanted class is predicted from must be wanted too. Afterwards, samples of other
  // classes are undefined, and so are samples that are predicted from samples missing in `coarse`.
  u32 wanted = all_classes;
  GridPart<const S> coarse{};                                 // part of the coarser level, see load_coarse
  GridPart<const u8> coarse_activities{}, coarse_specials{};  // no special values: nothing is masked
  GridPart<S> grid{};                                         // none: only activities are decoded
  // No activities: no finer level needs them. Special values: required if anything may be masked.
  GridPart<u8> activities{}, specials{};
};

template <class S>
class BlockDecoder {
 public:
  static constexpr int most_together = CodeStreamDecoder::most_together;
  void decode(const LevelToDecode<S>& level, const BlockToDecode<S>& block) { decode(level, this, &block, 1); }
  // Decodes up to most_together blocks with the same wanted classes. Their streams are decoded at the same time.
  static void decode(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count);
  std::vector<LiteralElement> literals;  // found in masks

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
  void place_bytes(const LevelToDecode<S>& level, int cls, ClassTask<RealOf<S>> task, u32 first, size_t& next);
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
