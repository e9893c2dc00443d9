// The sections of a stream that is read in parts: palette, decoded base section and directories of levels. Each is read when it is first
// needed.
#pragma once
#include <memory>

#include "decoder/decode_base_section.h"
#include "decoder/level_directory.h"
#include "reader/plan.h"
#include "reader/source.h"

namespace stz {

template <class S>
class StreamSections {
 public:
  // Both must outlive this object.
  StreamSections(Header& header, SourcePart& source);

  // Sets the number of refinements of the quantization indices to use (format/layers.h), at most those that the stream has.
  void take(size_t refinements) { taken_ = refinements; }
  size_t taken() const { return taken_; }

  // Reads the palette, the base section and the directories of all levels down to l, unless they were read before. Directories of
  // refinements are read only for the refinements in use.
  void read_directories(size_t l);
  // As read_directories(), but stops at damage: returns the finest level whose directories are intact, and sets `code` to the error that
  // stopped it (or STZ_OK). Fails if the base section is damaged.
  size_t read_whole_directories(size_t l, int& code);

  const Header& header() const { return header_; }
  const Hierarchy& hierarchy() const { return hierarchy_; }
  const Quantizer<S>& quantizer(size_t l) const { return quantizer_[l]; }
  size_t base_level() const { return size_t(hierarchy_.base_level); }
  u64 block_count_of_all_levels() const;
  // Approximate memory use.
  u64 bytes() const;

  // The members below are valid once the directories are read.
  const DecodedLevel<S>& base() const { return base_; }
  const std::vector<LiteralElement>& base_literals() const { return base_literals_; }  // sorted by index
  // An empty directory if read_whole_directories() stopped before this level.
  const LevelDirectory& directory(size_t l) const { return directory_[l] ? *directory_[l] : unread_; }
  // The directory of a refinement; null if it adds no bits to the level.
  const LevelDirectory* refined_directory(size_t r, size_t l) const {
    return header_.layers.added_bits(r, l) ? refined_[r].directory[l].get() : nullptr;
  }
  const std::vector<LevelReach>& reach() const { return reach_; }  // of every level below the base level

  // The number of the i-th block of an item's plan among the blocks of all items.
  u64 block_number(const LevelPlan& plan, u64 item, u64 i) const {
    return item * block_count(hierarchy_.level[plan.l]) + plan.block(hierarchy_.level[plan.l], i);
  }

  // Calls f(k, range) for every non-empty stream of a block that the wanted classes need. k: its index in the block's directory entry.
  template <class F>
  void for_streams(const LevelPlan& plan, u64 number, F f) const {
    for_streams_of(directory(plan.l), section(plan.l), size_t(header_.masked), plan, number, f);
  }
  // The same for the refinements in use: f(refinement, k, range).
  template <class F>
  void for_refined_streams(const LevelPlan& plan, u64 number, F f) const {
    for (size_t r = 0; r < taken_; r++)
      if (const LevelDirectory* d = refined_directory(r, plan.l))
        for_streams_of(*d, refined_[r].section[plan.l], 0, plan, number, [&](size_t k, const ByteRange& range) { f(r, k, range); });
  }

 private:
  using Directories = std::vector<std::unique_ptr<const LevelDirectory>>;  // by level; null: not read yet

  // The sections of a refinement, by level.
  struct Refinement {
    std::vector<ByteRange> section;
    Directories directory;
    size_t finest;  // directories of this level and of coarser ones are read
  };

  template <class F>
  static void for_streams_of(const LevelDirectory& d, const ByteRange& section, size_t masks, const LevelPlan& plan, u64 number, F f) {
    u64 offset = section.offset + d.begin + d.offset_of(number);
    for (size_t k = 0; k < d.per_block; k++) {
      const u64 size = d.stored_size(size_t(number * d.per_block) + k);
      const bool needed = d.merged || k < masks || plan.wanted >> (k - masks) & 1;
      if (size && needed) f(k, ByteRange{offset, size});
      offset += size;
    }
  }
  template <class Read>
  void read_directory_of(const ByteRange& range, std::unique_ptr<const LevelDirectory>& directory, Read read);
  const ByteRange& section(size_t l) const { return section_[base_level() - l]; }
  void read_palette();
  void read_base_section();
  void read_coarsest();
  void read_level_directory(size_t l);
  void read_level_directories(size_t l);
  void read_refined_directories(size_t r, size_t l);

  Header& header_;  // only read_palette() changes it
  SourcePart& source_;
  const Hierarchy hierarchy_;
  const std::vector<Quantizer<S>> quantizer_;
  std::vector<ByteRange> section_;  // ranges in the stream: the base section, then levels base_level - 1 .. 0
  DecodedLevel<S> base_;            // empty: not read yet
  std::vector<LiteralElement> base_literals_;
  ParameterState state_;
  size_t finest_directory_;  // directories of this level and of coarser ones are read
  Directories directory_;
  const LevelDirectory unread_;
  std::vector<LevelReach> reach_;
  size_t taken_ = 0;
  std::vector<Refinement> refined_;
};

}  // namespace stz
