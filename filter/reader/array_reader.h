// Partial reads of an array from a stream of any form. See stz_reader.h.
#pragma once
#include <memory>

#include "reader/damage_report.h"
#include "reader/source.h"

namespace stz {

class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  virtual const Header& header() const = 0;
  // The header of the stream that has the resolution levels. For a patched stream this is the header of its base.
  virtual const Header& levels_header() const = 0;
  // Writes the elements of a request, in C order, to `out`, which has room for exactly these. The request must fit the array. `report`:
  // collects damage; if null, damage is a failure.
  virtual void read(const Request& request, u8* out, int threads, DamageReport* report) = 0;
  // The ranges that read() would fetch from the source now: sorted by offset, adjacent ranges joined.
  virtual std::vector<ByteRange> plan(const Request& request) = 0;
  virtual u64 cached_bytes() const = 0;
  virtual u64 blocks_decoded() const = 0;
  virtual u64 blocks_present() const = 0;
  virtual void limit(u64 cache_bytes) = 0;
  // If on, completely decoded blocks of level 0 are compared with the content check.
  virtual void verify(bool on) = 0;
};

// Reads and checks the header of a stream. The source must outlive the reader. `cache_bytes`: limit of the cache of decoded samples.
std::unique_ptr<ArrayReader> open_array(Source& source, u64 cache_bytes);

}  // namespace stz
