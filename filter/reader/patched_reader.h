// Partial reads of a patched stream: reads its base, and the patches that intersect a request.
#pragma once
#include "reader/stream_reader.h"

namespace stz {

class PatchedReader : public ArrayReader {
 public:
  // The source must outlive the reader.
  PatchedReader(Source& source, Header header, u64 cache_bytes);

  const Header& header() const override { return header_; }
  const Header& levels_header() const override { return base_->header(); }
  void read(const Request& request, u8* out, int threads, DamageReport* report) override;
  std::vector<ByteRange> plan(const Request& request) override;
  u64 cached_bytes() const override;
  u64 blocks_decoded() const override;
  u64 blocks_present() const override;
  void limit(u64 cache_bytes) override;
  void verify(bool on) override;

 private:
  // A patch is opened at the first request that intersects it. It is closed again if its fixed memory exceeds its share of the limit.
  struct PatchReader {
    std::unique_ptr<StreamReader> reader;
    u64 decoded_before = 0;  // blocks decoded by readers that were closed
    u64 blocks_present = 0;  // known since the patch was first opened
  };

  struct Overlap;

  // Whether patches are differences from other boxes, their sources (format/repeats.h). A read of a patch then reads its source too, from
  // the base and the patches before it.
  bool has_repeats() const { return !header_.repeats.empty(); }
  bool overlaps(const Patch& patch, const Request& request, Overlap& overlap) const;
  Request of_base(const Request& request) const;
  void read_below(size_t patches, const Request& request, u8* out, int threads, DamageReport* report);
  void plan_below(size_t patches, const Request& request, std::vector<ByteRange>& ranges);
  std::vector<size_t> visible_patches(size_t patches, const Request& request, bool& base_is_visible) const;
  template <class F>
  void with_patch(size_t k, F use);
  void read_patch(size_t k, const Request& request, u8* out, int threads, DamageReport* report);
  void read_repeat(size_t k, const Overlap& overlap, const Request& request, u8* out, int threads, DamageReport* report);
  bool is_within(const Request& request, const u64* start, const u64* count, u64* first) const;
  void others_of(size_t k, const u64* from, const u64* count, const u64* step, u64* start) const;
  u64 share(const u64* extent) const;

  Source& source_;
  const Header header_;
  u64 limit_;
  bool verify_ = false;
  std::unique_ptr<StreamReader> base_;
  std::vector<PatchReader> patches_;
  double elements_ = 0;  // elements of the base and of all patches
};

}  // namespace stz
