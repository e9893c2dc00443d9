// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final xor all ones), as in iSCSI (RFC 3720).
// Stream checksums are its low 16 bits.
#pragma once
#include "common.h"

namespace stz {

u32 crc32c(const u8* data, size_t size);
inline u16 crc16(const u8* data, size_t size) { return u16(crc32c(data, size)); }

}  // namespace stz
