// The source of a stream's bytes for partial reads: memory, a file, or a callback.
#pragma once
#include <algorithm>
#include <map>

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
  // The stream if all of it is in memory, else null.
  virtual const u8* memory() const { return nullptr; }
  // Number of bytes that were fetched, or used in place if the stream is in memory.
  u64 bytes_read() const { return bytes_read_; }

  // Copies bytes [offset, offset + size) to `out`. Fails with STZ_ERROR_TRUNCATED beyond the end, with STZ_ERROR_READ if fetching fails.
  void read(u64 offset, u64 size, u8* out) {
    for_pieces(offset, size, [&](u64 at, u64 n, const u8* peeked) {
      if (peeked)
        memcpy(out, peeked, size_t(n));
      else {
        fetch(at, n, out);
        bytes_read_ += n;
      }
      out += n;
    });
  }
  // As read(), and keeps the bytes, so that they are never fetched twice. For headers and directories, which tell what to read next.
  void peek(u64 offset, u64 size, u8* out) {
    read(offset, size, out);
    std::vector<ByteRange> missing;
    for_pieces(offset, size, [&](u64 at, u64 n, const u8* peeked) {
      if (!peeked) missing.push_back({at, n});
    });
    for (const ByteRange& r : missing) peeked_.emplace(r.offset, Bytes(out + (r.offset - offset), out + (r.offset - offset) + r.size));
  }
  // Drops all kept bytes. They may be damaged, and the source may deliver better ones next time.
  void forget_peeked() { peeked_.clear(); }
  // The parts of ranges that peek() did not keep. The ranges must be sorted by offset.
  std::vector<ByteRange> not_peeked(const std::vector<ByteRange>& ranges) const {
    std::vector<ByteRange> missing;
    for (const ByteRange& r : ranges)
      for_pieces(r.offset, r.size, [&](u64 at, u64 n, const u8* peeked) {
        if (peeked) return;
        if (!missing.empty() && missing.back().offset + missing.back().size == at)
          missing.back().size += n;
        else
          missing.push_back({at, n});
      });
    return missing;
  }
  // As read(), but returns a pointer into memory() instead of a copy.
  const u8* view(u64 offset, u64 size) {
    for_pieces(offset, size, [&](u64, u64 n, const u8* peeked) {
      if (!peeked) bytes_read_ += n;
    });
    return memory() + offset;
  }

 private:
  virtual void fetch(u64 offset, u64 size, u8* out) = 0;

  // Splits a range into pieces that were kept by peek() and pieces between them. Calls f(offset, size, bytes); `bytes` is null for the
  // latter.
  template <class F>
  void for_pieces(u64 offset, u64 size, F f) const {
    require(offset <= size_ && size <= size_ - offset, STZ_ERROR_TRUNCATED);
    auto next = peeked_.upper_bound(offset);
    if (next != peeked_.begin() && offset - std::prev(next)->first < std::prev(next)->second.size()) --next;
    while (size) {
      u64 n = size;
      const u8* bytes = nullptr;
      if (next != peeked_.end() && next->first <= offset) {
        bytes = next->second.data() + (offset - next->first);
        n = std::min<u64>(n, next->first + next->second.size() - offset);
        ++next;
      } else if (next != peeked_.end())
        n = std::min(n, next->first - offset);
      f(offset, n, bytes);
      offset += n;
      size -= n;
    }
  }

  const u64 size_;
  u64 bytes_read_ = 0;
  std::map<u64, Bytes> peeked_;  // by offset; ranges do not overlap
};

// One stream in a source: all of the source, or one of the streams in a patched stream. The source must outlive this object.
class SourcePart {
 public:
  explicit SourcePart(Source& source) : source_(source), offset_(0), size_(source.size()) {}
  SourcePart(Source& source, u64 offset, u64 size) : source_(source), offset_(offset), size_(size) {
    require(offset <= source.size() && size <= source.size() - offset, STZ_ERROR_TRUNCATED);
  }

  u64 size() const { return size_; }
  bool in_memory() const { return source_.memory() != nullptr; }
  // The number of bytes of a range that exist.
  u64 present(u64 offset, u64 size) const { return offset < size_ ? std::min(size, size_ - offset) : 0; }
  void read(u64 offset, u64 size, u8* out) { source_.read(place(offset, size), size, out); }
  void peek(u64 offset, u64 size, u8* out) { source_.peek(place(offset, size), size, out); }
  const u8* view(u64 offset, u64 size) { return source_.view(place(offset, size), size); }
  // As Source::not_peeked(). The result has offsets in the source.
  std::vector<ByteRange> not_peeked(std::vector<ByteRange> ranges) const {
    for (ByteRange& r : ranges) r.offset = place(r.offset, r.size);
    return source_.not_peeked(ranges);
  }

 private:
  u64 place(u64 offset, u64 size) const {
    require(offset <= size_ && size <= size_ - offset, STZ_ERROR_TRUNCATED);
    return offset_ + offset;
  }
  Source& source_;
  u64 offset_, size_;
};

}  // namespace stz
