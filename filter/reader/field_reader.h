// Partial reads of floating-point fields (format/float_fields.h). A read decodes the blocks that have the requested elements.
#pragma once
#include <map>

#include "decoder/decode_fields.h"
#include "reader/damage_report.h"
#include "reader/source.h"

namespace stz {

class FieldReader {
 public:
  // Both must outlive this object.
  FieldReader(const Header& h, SourcePart& source, u64 cache_bytes) : h_(h), source_(source), limit_(cache_bytes) {}

  void read(const Request& request, u8* out, int threads, DamageReport* report);
  std::vector<ByteRange> plan(const Request& request);
  u64 cached_bytes() const { return cached_; }
  u64 blocks_decoded() const { return decoded_; }
  u64 blocks_present() const { return field_block_count(h_); }
  void limit(u64 cache_bytes);

 private:
  struct Job;

  void read_directory();
  std::vector<u64> blocks_of(const Request& request) const;
  void decode(const std::vector<u64>& blocks, u64 first, int threads, DamageReport* report);
  void fetch(Job& job);
  void forget_first();

  const Header& h_;
  SourcePart& source_;
  std::vector<u64> place_;            // of each block in the stream, and the end of the last one; once they are read
  std::map<u64, Buffer<u8>> blocks_;  // decoded ones
  std::map<u64, size_t> lost_;        // damaged ones of this read: the number of the damage
  u64 cached_ = 0, limit_, decoded_ = 0;
};

}  // namespace stz
