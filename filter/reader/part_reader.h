// Reads parts of one stream: plans, fetches and decodes what a selection needs and is not there yet. See stz_reader.h.
#pragma once
#include <memory>

#include "reader/damage_report.h"
#include "reader/fetched.h"

namespace stz {

class PartReader {
 public:
  virtual ~PartReader() = default;
  // From now on with so many refinements of the codes (format/layers.h); at first with all. What was kept with others is dropped.
  virtual void take(size_t refinements) = 0;
  // Whether samples are enhanced from now on (format/enhancement.h), as they are at first, if the stream has an enhancement.
  virtual void enhance(bool on) = 0;
  // `out` has the elements of the selection, C order. `report`: null, or where damage goes that does not cost all that is read.
  virtual void read(const Selection& selection, u8* out, int threads, DamageReport* report) = 0;
  // What read() would fetch now of the source, by rising offset, neighbours joined.
  virtual std::vector<ByteRange> plan(const Selection& selection) = 0;
  virtual u64 cached_bytes() const = 0;
  // What stays whatever the limit is, once it was read: the base section and the directories of levels.
  virtual u64 fixed_bytes() const = 0;
  virtual u64 blocks_decoded() const = 0;
  virtual u64 blocks_present() const = 0;
  virtual void limit(u64 cache_bytes) = 0;
  virtual void verify(bool on) = 0;
};

// `header` and `source` must live as long as the reader, which reads the header's palette.
std::unique_ptr<PartReader> make_part_reader(Header& header, SourcePart& source, u64 cache_bytes);

}  // namespace stz
