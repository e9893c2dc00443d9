// Partial reads of a stream of any form except patched.
#pragma once
#include "reader/array_reader.h"
#include "reader/field_reader.h"
#include "reader/part_reader.h"
#include "reader/remainder_reader.h"

namespace stz {

// Reads the header at the beginning of a stream.
Header peek_header(SourcePart& source);

class StreamReader : public ArrayReader {
 public:
  StreamReader(const SourcePart& source, Header header, u64 cache_bytes);
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const Header& header() const override { return header_; }
  const Header& levels_header() const override { return header_; }
  void read(const Request& request, u8* out, int threads, DamageReport* report) override;
  std::vector<ByteRange> plan(const Request& request) override;
  u64 cached_bytes() const override { return blocks_ ? blocks_->cached_bytes() : fields_ ? fields_->cached_bytes() : payload_.size(); }
  u64 blocks_decoded() const override { return blocks_ ? blocks_->blocks_decoded() : fields_ ? fields_->blocks_decoded() : 0; }
  u64 blocks_present() const override { return blocks_ ? blocks_->blocks_present() : fields_ ? fields_->blocks_present() : 0; }
  void limit(u64 cache_bytes) override;
  void verify(bool on) override {
    if (blocks_) blocks_->verify(on);
  }
  // Bytes that no cache limit frees.
  u64 fixed_bytes() const { return sizeof *this + (blocks_ ? blocks_->fixed_bytes() : 0); }

 private:
  void read(const Selection& selection, const Request& request, u8* out, int threads, DamageReport* report);
  void prepare(const Request& request);
  bool needs_remainders(const Request& request) const;
  void load_payload();
  void copy_payload(const Request& request, u8* out) const;

  SourcePart source_;
  Header header_;
  std::unique_ptr<PartReader> blocks_;           // if the form is blocks
  std::unique_ptr<FieldReader> fields_;          // if the stream has floating-point fields
  std::unique_ptr<RemainderReader> remainders_;  // if the stream has remainders
  // For other forms: the array, or its only element. Read when first needed.
  Bytes payload_;
  u64 limit_;
};

}  // namespace stz
