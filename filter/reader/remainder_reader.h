// Puts remainders (format/remainders.h) into the elements that a partial read decoded. A read needs the slabs that hold requested elements;
// of each it needs all elements, because their bits say where the remainders stand.
#pragma once
#include "decoder/decode_remainders.h"
#include "reader/part_reader.h"

namespace stz {

class RemainderReader {
 public:
  // All must outlive this object.
  RemainderReader(const Header& h, SourcePart& source, PartReader& blocks);

  // `out`: the selected elements without their remainders.
  void read(const Selection& selection, u8* out, int threads, DamageReport* report);
  // The ranges that read() fetches, beside those of the elements.
  std::vector<ByteRange> plan(const Selection& selection);

 private:
  struct Section {
    Slabs slabs;
    u64 offset, size;               // in the stream
    std::vector<u64> sizes, place;  // of the slabs, once read; places in the stream
  };
  struct Block {  // with the slabs that are needed
    size_t section;
    u64 item, first, count;  // slabs
    Box box;                 // of these slabs, in samples of the level
  };

  void read_directory(Section& section);
  std::vector<Block> needed(const Selection& selection) const;
  Selection selection_of(const Block& block) const;
  void add(const Block& block, const Selection& selection, u64 offset, u8* out, int threads, DamageReport* report);
  template <class U>
  void add_slab(const Section& section, u64 slab, const Box& box, const u8* elements, const Selection& selection, u8* out);
  void lose(const Block& block, const Selection& selection, u64 offset, size_t cause, DamageReport& report) const;

  const Header& h_;
  SourcePart& source_;
  PartReader& blocks_;
  const Hierarchy hierarchy_;
  SlabDecoder decoder_;
  std::vector<Section> sections_;  // coarse to fine
};

}  // namespace stz
