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
      if (const Known* k = known_at(offset)) {
        n = std::min<u64>(n, k->offset + k->bytes.size() - offset);
        memcpy(out, k->bytes.data() + (offset - k->offset), size_t(n));
      } else {
        for (const Known& later : known_)
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
  void look(u64 offset, u64 size, u8* out) {
    read(offset, size, out);
    u64 fresh = offset;  // pieces that are known do not overlap
    while (const Known* k = known_at(fresh)) fresh = k->offset + k->bytes.size();
    if (fresh < offset + size) known_.push_back({fresh, Bytes(out + (fresh - offset), out + size)});
  }
  // What was looked at there turned out to be damaged: it is to be fetched again.
  void forget(u64 offset, u64 size) {
    std::erase_if(known_, [&](const Known& k) { return k.offset < offset + size && offset < k.offset + k.bytes.size(); });
  }
  // Of ranges by rising offset what is not known.
  std::vector<ByteRange> unknown(const std::vector<ByteRange>& ranges) const {
    std::vector<ByteRange> found;
    for (ByteRange r : ranges)
      while (r.size) {
        u64 n = r.size;
        if (const Known* k = known_at(r.offset))
          n = std::min<u64>(n, k->offset + k->bytes.size() - r.offset);
        else {
          for (const Known& later : known_)
            if (later.offset > r.offset) n = std::min(n, later.offset - r.offset);
          if (!found.empty() && found.back().offset + found.back().size == r.offset)
            found.back().size += n;
          else
            found.push_back({r.offset, n});
        }
        r.offset += n;
        r.size -= n;
      }
    return found;
  }
  // The same in memory, without a copy.
  const u8* view(u64 offset, u64 size) {
    require(offset <= size_ && size <= size_ - offset, STZ_ERROR_TRUNCATED);
    bytes_read_ += size;
    for (const Known& k : known_) {  // they have been counted
      const u64 low = std::max(offset, k.offset), high = std::min<u64>(offset + size, k.offset + k.bytes.size());
      if (low < high) bytes_read_ -= high - low;
    }
    return memory() + offset;
  }

 private:
  virtual void fetch(u64 offset, u64 size, u8* out) = 0;
  struct Known {
    u64 offset;
    Bytes bytes;
  };
  const Known* known_at(u64 offset) const {
    for (const Known& k : known_)
      if (offset >= k.offset && offset - k.offset < k.bytes.size()) return &k;
    return nullptr;
  }
  const u64 size_;
  u64 bytes_read_ = 0;
  std::vector<Known> known_;
};

}  // namespace stz
