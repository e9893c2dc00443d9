// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final xor all ones), as in iSCSI (RFC 3720), and the checks
// made of it: a stream stores all four bytes of a CRC or its low two.
#pragma once
#include "base/common.h"

namespace stz {

// The CRC of these bytes; `before`: the CRC of those in front of them, to get that of both together.
u32 crc32c(const u8* data, size_t size, u32 before = 0);
inline u16 crc16(const u8* data, size_t size) { return u16(crc32c(data, size)); }

// Fails unless `stored` is a check of `width` bytes, 2 or 4, of bytes with this CRC.
#ifdef STZ_FUZZING  // fuzz/: every check is accepted, so that mutated streams reach the code behind the checks
inline void require_check(u32, const u8*, size_t) {}
#else
inline void require_check(u32 crc, const u8* stored, size_t width) {
  for (size_t i = 0; i < width; i++) require(stored[i] == u8(crc >> (8 * i)), STZ_ERROR_CHECKSUM);
}
#endif

}  // namespace stz
