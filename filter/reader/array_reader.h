// Reads parts of an array from a stream of any form. See stz_reader.h.
#pragma once
#include <memory>

#include "reader/damage_report.h"
#include "reader/source.h"

namespace stz {

class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  virtual const Header& header() const = 0;
  // The header of the stream that has the resolution levels: of the base if the stream is patched.
  virtual const Header& levels_header() const = 0;
  // The elements of a request that fits the array, into room for exactly these, C order. `report`: null, or what is damaged goes there and
  // not into a failure.
  virtual void read(const Request& request, u8* out, int threads, DamageReport* report) = 0;
  // What read() would fetch of the source now, by rising offset, neighbours joined.
  virtual std::vector<ByteRange> plan(const Request& request) = 0;
  virtual u64 cached_bytes() const = 0;
  virtual u64 blocks_decoded() const = 0;
  virtual u64 blocks_present() const = 0;
  virtual void limit(u64 cache_bytes) = 0;
  // Whether blocks of level 0 that are decoded wholly are compared with the content check from now on.
  virtual void verify(bool on) = 0;
};

// Reads and checks the header of a stream, which must live as long as the reader. `cache_bytes`: what is kept of decoded samples.
std::unique_ptr<ArrayReader> open_array(Source& source, u64 cache_bytes);

}  // namespace stz
