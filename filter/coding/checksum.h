// The checks of a stream: CRC-32C (Castagnoli: reflected polynomial 0x82F63B78, as in iSCSI, RFC 3720), and for few bytes the CRC-16 of
// HDLC (reflected polynomial 0x8408, as in PPP, RFC 1662). Both start with all ones and end with an xor of all ones.
// CRC-16 detects up to three wrong bits in 32751 bits, every odd number of wrong bits and every burst of 16 bits. No 16-bit check can
// detect all cases of four wrong bits in the 2056 bits it is used for, because there are more pairs of bits than check values.
#pragma once
#include "base/bytes.h"

namespace stz {

// The CRC of these bytes. `before`: the CRC of the bytes before them, to get the CRC of both together.
u32 crc32c(const u8* data, size_t size, u32 before = 0);
u16 crc16(const u8* data, size_t size, u16 before = 0);

// A check as stored by sections and their streams: CRC-16 for fewer than `short_check_below` bytes, otherwise CRC-32C.
struct Check {
  u32 crc;
  size_t size;  // 2 or 4 bytes
};
constexpr u64 short_check_below = 256;
constexpr size_t check_size(u64 checked_bytes) { return checked_bytes < short_check_below ? 2 : 4; }
// The check of `size` bytes at `data` followed by `more_size` bytes at `more`.
inline Check check_of(const u8* data, size_t size, const u8* more = nullptr, size_t more_size = 0) {
  if (check_size(size + more_size) == 2) return {crc16(more, more_size, crc16(data, size)), 2};
  return {crc32c(more, more_size, crc32c(data, size)), 4};
}
inline void put_check(Bytes& out, const Check& check) {
  for (size_t i = 0; i < check.size; i++) out.push_back(u8(check.crc >> (8 * i)));
}

// Fails unless the bytes at `stored` equal this check.
void require_check(const Check& check, const u8* stored);
// The same for a CRC in `width` bytes.
inline void require_check(u32 crc, const u8* stored, size_t width) { require_check({crc, width}, stored); }

}  // namespace stz
