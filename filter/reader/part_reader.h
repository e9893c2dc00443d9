// Partial reads of one stream of blocks: plans, fetches and decodes the blocks of a selection that are not cached. See stz_reader.h.
#pragma once
#include <memory>

#include "reader/damage_report.h"
#include "reader/fetched.h"

namespace stz {

class PartReader {
 public:
  virtual ~PartReader() = default;
  // Sets the number of refinements of the quantization indices to use (format/layers.h); initially all. A change clears the cache.
  virtual void take(size_t refinements) = 0;
  // Switches the enhancement of samples (format/enhancement.h) on or off. Initially on; no effect if the stream has no enhancement.
  virtual void enhance(bool on) = 0;
  // Writes the selected elements in C order to `out`. `report`: collects damage, unless everything is lost; may be null.
  virtual void read(const Selection& selection, u8* out, int threads, DamageReport* report) = 0;
  // The ranges that read() would fetch from the source now: sorted by offset, adjacent ranges joined.
  virtual std::vector<ByteRange> plan(const Selection& selection) = 0;
  virtual u64 cached_bytes() const = 0;
  // Bytes that no cache limit frees once they were read: the base section and the directories of levels.
  virtual u64 fixed_bytes() const = 0;
  virtual u64 blocks_decoded() const = 0;
  virtual u64 blocks_present() const = 0;
  virtual void limit(u64 cache_bytes) = 0;
  virtual void verify(bool on) = 0;
};

// `header` and `source` must outlive the reader. The reader stores the palette in `header` when it first needs it.
std::unique_ptr<PartReader> make_part_reader(Header& header, SourcePart& source, u64 cache_bytes);

}  // namespace stz
