// Where the bytes of a stream come from when only parts of it are read: memory, a file, or a function of the caller.
#pragma once
#include <algorithm>

#include "base/bytes.h"

namespace stz {

struct ByteRange {
  u64 offset, size;
};

class Source {
 public:
  explicit Source(u64 size) : size_(size) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  u64 size() const { return size_; }
  // The stream, if all of it is in memory, else null.
  virtual const u8* memory() const { return nullptr; }
  // Bytes that were fetched, or looked at in memory.
  u64 bytes_read() const { return bytes_read_; }

  // Bytes [offset, offset + size) to `out`. Fails with STZ_ERROR_TRUNCATED beyond the stream, with STZ_ERROR_READ if they cannot be had.
  void read(u64 offset, u64 size, u8* out) {
    require(offset <= size_ && size <= size_ - offset, STZ_ERROR_TRUNCATED);
    while (size) {
      u64 n = size;
      if (const CachedRange* k = cached_at(offset)) {
        n = std::min<u64>(n, k->offset + k->bytes.size() - offset);
        memcpy(out, k->bytes.data() + (offset - k->offset), size_t(n));
      } else {
        for (const CachedRange& later : cached_)
          if (later.offset > offset) n = std::min(n, later.offset - offset);
        fetch(offset, n, out);
        bytes_read_ += n;
      }
      offset += n;
      size -= n;
      out += n;
    }
  }
  // The same for a few bytes whose meaning tells what to read next: they are kept, so that nothing is fetched twice.
  void peek(u64 offset, u64 size, u8* out) {
    read(offset, size, out);
    u64 fresh = offset;  // cached ranges do not overlap
    while (const CachedRange* k = cached_at(fresh)) fresh = k->offset + k->bytes.size();
    if (fresh < offset + size) cached_.push_back({fresh, Bytes(out + (fresh - offset), out + size)});
  }
  // What was peeked at turned out to be damaged: it is to be fetched again.
  void invalidate(u64 offset, u64 size) {
    std::erase_if(cached_, [&](const CachedRange& k) { return k.offset < offset + size && offset < k.offset + k.bytes.size(); });
  }
  // Of ranges by rising offset what is not cached.
  std::vector<ByteRange> not_cached(const std::vector<ByteRange>& ranges) const {
    std::vector<ByteRange> missing;
    for (ByteRange r : ranges)
      while (r.size) {
        u64 n = r.size;
        if (const CachedRange* k = cached_at(r.offset))
          n = std::min<u64>(n, k->offset + k->bytes.size() - r.offset);
        else {
          for (const CachedRange& later : cached_)
            if (later.offset > r.offset) n = std::min(n, later.offset - r.offset);
          if (!missing.empty() && missing.back().offset + missing.back().size == r.offset)
            missing.back().size += n;
          else
            missing.push_back({r.offset, n});
        }
        r.offset += n;
        r.size -= n;
      }
    return missing;
  }
  // The same in memory, without a copy.
  const u8* view(u64 offset, u64 size) {
    require(offset <= size_ && size <= size_ - offset, STZ_ERROR_TRUNCATED);
    bytes_read_ += size;
    for (const CachedRange& k : cached_) {  // they have been counted
      const u64 low = std::max(offset, k.offset), high = std::min<u64>(offset + size, k.offset + k.bytes.size());
      if (low < high) bytes_read_ -= high - low;
    }
    return memory() + offset;
  }

 private:
  virtual void fetch(u64 offset, u64 size, u8* out) = 0;
  struct CachedRange {
    u64 offset;
    Bytes bytes;
  };
  const CachedRange* cached_at(u64 offset) const {
    for (const CachedRange& k : cached_)
      if (offset >= k.offset && offset - k.offset < k.bytes.size()) return &k;
    return nullptr;
  }
  const u64 size_;
  u64 bytes_read_ = 0;
  std::vector<CachedRange> cached_;
};

}  // namespace stz
