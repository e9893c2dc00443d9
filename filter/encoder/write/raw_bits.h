// Writes the raw bits of a code stream (coding/code_stream.h): fields of bits, the low bits of each first.
#pragma once
#include <algorithm>

#include "base/bytes.h"

namespace stz {

// Puts fields into existing memory. Keep it in a local variable while you put many: a compiler must assume that a store through a member's
// pointer changes the member.
class RawFields {
 public:
  // Up to 56 bits; `v` has no others.
  void put(u64 v, int bits) {
    accumulator_ |= v << pending_;
    pending_ += bits;
    store_le<u64>(at_, accumulator_);
    at_ += pending_ / 8;
    accumulator_ >>= pending_ & ~7;
    pending_ &= 7;
  }
  // Up to 64 bits.
  void put_long(u64 v, int bits) {
    if (bits > 56) {
      put(v & 0xffffffffu, 32);
      v >>= 32;
      bits -= 32;
    }
    put(v, bits);
  }

 private:
  friend class RawBitsWriter;
  u8* at_ = nullptr;
  u64 accumulator_ = 0;
  int pending_ = 0;  // bits of the accumulator, fewer than 8
};

class RawBitsWriter {
 public:
  // Calls put(i, raw) for i from 0 to n - 1; each may put up to `most` bits.
  template <class F>
  void put_each(size_t n, u64 most, F put) {
    constexpr size_t at_once = 512;
    for (size_t i = 0; i < n;) {
      const size_t end = std::min(n, i + at_once);
      RawFields raw = with_room(u64(end - i) * most);
      for (; i < end; i++) put(i, raw);
      keep(raw);
    }
  }
  // All bytes so far, the last of which is filled up with zeros.
  size_t size() const { return size_ + (raw_.pending_ != 0); }
  const u8* data() {
    RawFields last = with_room(8);
    last.put(0, 8);  // stores what is pending
    return bytes_.data();
  }
  void clear() {
    raw_ = {};
    size_ = 0;
  }

 private:
  RawFields with_room(u64 bits) {
    const size_t wanted = size_ + size_t(bits / 8) + 16;
    if (bytes_.size() < wanted) bytes_.resize(std::max(2 * bytes_.size(), wanted));
    raw_.at_ = &bytes_[size_];
    return raw_;
  }
  void keep(const RawFields& raw) {
    size_ = size_t(raw.at_ - bytes_.data());
    raw_ = raw;
  }

  Bytes bytes_;
  size_t size_ = 0;  // whole bytes
  RawFields raw_;
};

}  // namespace stz
