// Reads the raw bits of a code stream (coding/code_stream.h), from its end downwards. The place of a field depends only on the lengths of
// the fields before it, so reads do not wait for each other.
#pragma once
#include <type_traits>

#include "base/common.h"

namespace stz {

class RawBitsReader {
 public:
  RawBitsReader() = default;
  RawBitsReader(const u8* begin, const u8* end) : begin_(begin), end_(end) {}
  // The end of the unread bytes.
  const u8* end() const { return end_ - (taken_ + 7) / 8; }
  // Reads the next field of up to 64 bits. Fails with STZ_ERROR_TRUNCATED if it needs bytes below `lowest`.
  u64 take(int bits, const u8* lowest) {
    if (bits > 56) {
      const u64 low = take(32, lowest);
      return low | take(bits - 32, lowest) << 32;
    }
    require_bits(u64(bits), lowest);
    const u64 v = word(taken_ / 8) >> (taken_ % 8) & ((u64(1) << bits) - 1);
    taken_ += u64(bits);
    return v;
  }
  // The same for up to 56 bits, if the caller has checked room().
  u64 take_unchecked(int bits) {
    const u64 v = whole_word(taken_ / 8) >> (taken_ % 8) & ((u64(1) << bits) - 1);
    taken_ += u64(bits);
    return v;
  }
  // The number of unread bytes from `lowest` on.
  size_t room(const u8* lowest) const { return size_t(end() - lowest); }
  // Reads n fields of up to 56 bits each.
  template <class U>
  void take_many(U* out, size_t n, int bits, const u8* lowest) {
    require_bits(u64(n) * u64(bits), lowest);
    const u64 mask = (u64(1) << bits) - 1;
    u64 taken = taken_;
    size_t i = 0;
    auto take_groups = [&](auto fixed) {  // one word each
      constexpr size_t group = fixed.value;
      for (const u64 whole = whole_words(); i + group <= n && taken / 8 < whole; i += group, taken += u64(group) * u64(bits)) {
        const u64 v = whole_word(taken / 8) >> (taken % 8);
        for (size_t k = 0; k < group; k++) out[i + k] = U(v >> (int(k) * bits) & mask);
      }
    };
    if (bits <= 14)
      take_groups(std::integral_constant<size_t, 4>());
    else if (bits <= 28)
      take_groups(std::integral_constant<size_t, 2>());
    take_groups(std::integral_constant<size_t, 1>());
    for (; i < n; i++, taken += u64(bits)) out[i] = U(word(taken / 8) >> (taken % 8) & mask);
    taken_ = taken;
  }
  // Whether the unread bits of the last byte that was read from are zero.
  bool ends_with_zeros() const { return taken_ % 8 == 0 || *end() >> (taken_ % 8) == 0; }

 private:
  void require_bits(u64 bits, const u8* lowest) const {
    const u64 most = u64(end_ - lowest) * 8;
    require(bits <= most && taken_ <= most - bits, STZ_ERROR_TRUNCATED);
  }
  // The number of bytes that have seven more bytes of the stream below them.
  u64 whole_words() const { return u64(end_ - begin_) >= 8 ? u64(end_ - begin_) - 7 : 0; }
  u64 whole_word(u64 byte) const { return __builtin_bswap64(load_le<u64>(end_ - 8 - byte)); }
  // The eight bytes from this one downwards; zeros below the stream.
  u64 word(u64 byte) const {
    if (byte < whole_words()) return whole_word(byte);
    u64 v = 0;
    for (u64 k = 0; k < 8 && byte + k < u64(end_ - begin_); k++) v |= u64(end_[-1 - i64(byte + k)]) << (8 * k);
    return v;
  }

  const u8 *begin_ = nullptr, *end_ = nullptr;
  u64 taken_ = 0;  // bits read so far
};

}  // namespace stz
