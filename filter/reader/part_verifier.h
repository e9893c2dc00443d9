// Compares the blocks that a reader decodes with the stream's content check.
#pragma once
#include "masks/content_check.h"
#include "reader/block_cache.h"
#include "reader/stream_sections.h"

namespace stz {

template <class S>
class PartVerifier {
 public:
  PartVerifier(const Header& header, SourcePart& source) : header_(header), source_(source) {}

  void set(bool on) { on_ = on; }

  // The range of the trailer if it is still to be read, else nothing.
  std::vector<ByteRange> missing() const {
    if (!needs_trailer()) return {};
    return {{content_bytes(header_), header_.trailer_size}};
  }

  // Reads the content check. Call it before blocks of level 0 are decoded. If level 0 is in the base section, it is compared at once.
  void prepare(const StreamSections<S>& sections) {
    if (!needs_trailer()) return;
    const Hierarchy& hierarchy = sections.hierarchy();
    require(source_.present(content_bytes(header_), header_.trailer_size) == header_.trailer_size, STZ_ERROR_TRUNCATED);
    Buffer<u8> trailer(size_t(header_.trailer_size));
    source_.read(content_bytes(header_), trailer.size(), trailer.data());
    std::vector<u32> checks;
    read_content_check(trailer.data(), trailer.size(), checked_blocks(hierarchy), checks);
    if (hierarchy.base_level == 0 && !checks.empty()) {
      const Level& level = hierarchy.level[0];
      const DecodedLevel<S>& base = sections.base();
      for (u64 item = 0; item < hierarchy.batch; item++) {
        const u64 first = item * level.samples();
        const u8* kinds = header_.masked ? base.specials.data() + first : nullptr;
        compare(whole_grid<const S>(base.samples.data() + first, level), kinds, sections.base_literals(), level_map(hierarchy, 0, item),
                checks[size_t(item)]);
      }
    }
    checks_ = std::move(checks);
    ready_ = true;
  }

  // Verifies a block of level 0 if it was decoded completely. `number`: its number among the blocks of all items. Thread-safe.
  void verify(const StreamSections<S>& sections, const DecodedBlock<S>& block, u64 item, u64 number) const {
    if (!on_ || checks_.empty()) return;
    const u32 classes = (u32(1) << parity_classes_of(sections.hierarchy().level[0].split_mask()).count) - 1;
    const bool whole = (block.wanted & classes) == classes && block.exact.low == block.box.low && block.exact.size == block.box.size;
    if (!whole) return;
    compare({block.samples.data(), block.box}, block.specials.empty() ? nullptr : block.specials.data(), block.literals,
            level_map(sections.hierarchy(), 0, item), checks_[size_t(number)]);
  }

 private:
  bool needs_trailer() const { return on_ && !ready_ && header_.trailer_size != 0; }

  void compare(const GridPart<const S>& samples, const u8* kinds, const std::vector<LiteralElement>& literals, const LevelMap& map,
               u32 expected) const {
    ContentCheck<S> check;
    const typename ContentCheck<S>::Special special{{kinds, samples.box}, literals, map};
    check.add(header_, samples, samples.box, kinds ? &special : nullptr);
    require(check.take() == expected, STZ_ERROR_CONTENT);
  }

  const Header& header_;
  SourcePart& source_;
  bool on_ = false, ready_ = false;
  std::vector<u32> checks_;  // empty: the stream has none
};

}  // namespace stz
