// Growing byte output and bounds-checked byte input. A reader never passes its end: it fails with STZ_ERROR_TRUNCATED.
// Sizes are LEB128 varints: seven bits a byte, low bits first, the top bit set on all but the last.
#pragma once
#include <algorithm>
#include <vector>

#include "base/common.h"

namespace stz {

using Bytes = std::vector<u8>;

inline void put_varint(Bytes& out, u64 v) {
  while (v > 127) {
    out.push_back(u8(v | 128));
    v >>= 7;
  }
  out.push_back(u8(v));
}
template <class T>
inline void put_le(Bytes& out, T v) {
  size_t at = out.size();
  out.resize(at + sizeof v);
  store_le(&out[at], v);
}
inline void put_double(Bytes& out, double v) { put_le(out, bit_cast_to<u64>(v)); }

// Repeats the first `unit` bytes at p up to `size` bytes, a multiple of `unit`.
inline void repeat_bytes(u8* p, size_t unit, u64 size) {
  constexpr u64 in_nearest_cache = 1 << 14;
  u64 piece = unit;
  for (u64 done = unit; done < size; done += piece) {
    if (done < in_nearest_cache) piece = done;
    memcpy(p + done, p, std::min(piece, size - done));
  }
}

class ByteReader {
 public:
  ByteReader(const u8* begin, size_t size) : begin_(begin), at_(begin), end_(begin + size) {}
  size_t left() const { return size_t(end_ - at_); }
  size_t consumed() const { return size_t(at_ - begin_); }
  const u8* take(u64 n) {
    require(n <= left(), STZ_ERROR_TRUNCATED);
    const u8* p = at_;
    at_ += n;
    return p;
  }
  template <class T>
  T get() {
    return load_le<T>(take(sizeof(T)));
  }
  double get_double() { return bit_cast_to<double>(get<u64>()); }
  u64 varint() {
    u64 v = 0;
    for (int shift = 0;; shift += 7) {
      u8 b = get<u8>();
      require(shift < 63 || b <= 1, STZ_ERROR_CORRUPT);
      v |= u64(b & 127) << shift;
      if (b < 128) return v;
    }
  }

 private:
  const u8 *begin_, *at_, *end_;
};

}  // namespace stz
