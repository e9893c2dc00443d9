// The bytes of a stream that a partial read needs: collects, joins and fetches ranges, and looks them up.
#pragma once
#include <algorithm>

#include "base/buffer.h"
#include "reader/source.h"

namespace stz {

constexpr u64 joined_gap = 256;  // ranges at most this far apart are fetched as one

// Sorts ranges by offset and joins those that overlap or have at most `gap` bytes between them.
inline std::vector<ByteRange> merged(std::vector<ByteRange> ranges, u64 gap) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> joined;
  for (const ByteRange& r : ranges)
    if (!joined.empty() && r.offset <= joined.back().offset + joined.back().size + gap)
      joined.back().size = std::max(joined.back().size, r.offset + r.size - joined.back().offset);
    else
      joined.push_back(r);
  return joined;
}

class Fetched {
 public:
  void want(u64 offset, u64 size) {
    if (size) ranges_.push_back({offset, size});
  }
  const std::vector<ByteRange>& join() {
    ranges_ = merged(std::move(ranges_), joined_gap);
    return ranges_;
  }
  // Fetches all wanted ranges. A range that lies beyond the source's end is a failure here, or, with `what_there_is`, a failure of at().
  void fetch(SourcePart& source, bool what_there_is = false) {
    if (what_there_is) std::erase_if(ranges_, [&](const ByteRange& r) { return source.present(r.offset, r.size) < r.size; });
    join();
    u64 total = 0;
    for (const ByteRange& r : ranges_) {
      require(source.present(r.offset, r.size) == r.size, STZ_ERROR_TRUNCATED);
      total += r.size;  // no overflow: ranges do not overlap, so the sum is at most the stream's size
    }
    if (!source.in_memory()) bytes_.resize(size_t(total));
    u64 at = 0;
    for (const ByteRange& r : ranges_) {
      if (source.in_memory())
        places_.push_back(source.view(r.offset, r.size));
      else {
        source.read(r.offset, r.size, bytes_.data() + at);
        places_.push_back(bytes_.data() + at);
        at += r.size;
      }
    }
  }
  // Returns the bytes of a wanted range.
  const u8* at(const ByteRange& range) const {
    const u64 offset = range.offset;
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), offset, [](u64 o, const ByteRange& r) { return o < r.offset; });
    require(it != ranges_.begin(), STZ_ERROR_TRUNCATED);
    const size_t k = size_t(it - ranges_.begin()) - 1;
    require(offset + range.size <= ranges_[k].offset + ranges_[k].size, STZ_ERROR_TRUNCATED);
    return places_[k] + (offset - ranges_[k].offset);
  }

 private:
  std::vector<ByteRange> ranges_;
  std::vector<const u8*> places_;
  Buffer<u8> bytes_;
};

}  // namespace stz
