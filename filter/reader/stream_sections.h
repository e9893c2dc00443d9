// The sections of a stream that is read in parts: the palette, the base section, decoded, and the directories of levels. Each is read when
// first needed.
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
  // Both must live as long as this.
  StreamSections(Header& header, SourcePart& source);

  // How many refinements of the codes are taken from now on (format/layers.h), at most those that there are.
  void take(size_t refinements) { taken_ = refinements; }
  size_t taken() const { return taken_; }

  // Reads palette, base section and the directories of all levels down to l, as far as they have not been read; of refinements, those that
  // are taken.
  void read_directories(size_t l);
  // The same as far as they are whole. Returns the finest level down to which they are, and why no finer one; fails if even the base
  // section is damaged.
  size_t read_whole_directories(size_t l, int& code);

  const Header& header() const { return header_; }
  const Hierarchy& hierarchy() const { return hierarchy_; }
  const Quantizer<S>& quantizer(size_t l) const { return quantizer_[l]; }
  size_t base_level() const { return size_t(hierarchy_.base_level); }
  u64 block_count_of_all_levels() const;
  // About what it holds in memory.
  u64 bytes() const;

  // What follows is there once the directories are read.
  const DecodedLevel<S>& base() const { return base_; }
  const std::vector<LiteralElement>& base_literals() const { return base_literals_; }  // by rising index
  // One of no streams for a level whose directory is damaged and was not asked for (read_whole_directories).
  const LevelDirectory& directory(size_t l) const { return directory_[l] ? *directory_[l] : unread_; }
  // Of a refinement; null if it adds nothing to the level.
  const LevelDirectory* refined_directory(size_t r, size_t l) const {
    return header_.layers.added_bits(r, l) ? refined_[r].directory[l].get() : nullptr;
  }
  const std::vector<LevelReach>& reach() const { return reach_; }  // of every level below the base level

  // The number, among those of all items, of the i-th block of an item's plan.
  u64 block_number(const LevelPlan& plan, u64 item, u64 i) const {
    return item * block_count(hierarchy_.level[plan.l]) + plan.block(hierarchy_.level[plan.l], i);
  }

  // Calls f(k, range) for every stream of a block that is not empty and that the wanted classes need; k: its place in the directory.
  template <class F>
  void for_streams(const LevelPlan& plan, u64 number, F f) const {
    for_streams_of(directory(plan.l), section(plan.l), size_t(header_.masked), plan, number, f);
  }
  // The same for the refinements that are taken: f(refinement, k, range).
  template <class F>
  void for_refined_streams(const LevelPlan& plan, u64 number, F f) const {
    for (size_t r = 0; r < taken_; r++)
      if (const LevelDirectory* d = refined_directory(r, plan.l))
        for_streams_of(*d, refined_[r].section[plan.l], 0, plan, number, [&](size_t k, const ByteRange& range) { f(r, k, range); });
  }

 private:
  using Directories = std::vector<std::unique_ptr<const LevelDirectory>>;  // by level; null: not read yet, and without memory

  // The sections of a refinement, by level.
  struct Refinement {
    std::vector<ByteRange> section;
    Directories directory;
    size_t finest;  // directories of this level and coarser ones are read
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
  void read_refined_directories(size_t r, size_t l);  // of a refinement

  Header& header_;  // changed by read_palette() alone
  SourcePart& source_;
  const Hierarchy hierarchy_;
  const std::vector<Quantizer<S>> quantizer_;
  std::vector<ByteRange> section_;  // in the stream: the base section, then levels base_level - 1 .. 0
  DecodedLevel<S> base_;            // empty: not read yet
  std::vector<LiteralElement> base_literals_;
  ParameterState state_;
  size_t finest_directory_;  // directories of this level and coarser ones are read
  Directories directory_;
  const LevelDirectory unread_;
  std::vector<LevelReach> reach_;
  size_t taken_ = 0;
  std::vector<Refinement> refined_;
};

}  // namespace stz
