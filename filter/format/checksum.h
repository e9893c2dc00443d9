// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final xor all ones), as in iSCSI (RFC 3720).
// Stream checksums are its low 16 bits.
#pragma once
#include "base/common.h"

namespace stz {

#ifdef STZ_FUZZING  // fuzz/: every checksum fits, so that mutated streams reach the code behind them
inline u32 crc32c(const u8*, size_t) { return 0; }
#else
u32 crc32c(const u8* data, size_t size);
#endif
inline u16 crc16(const u8* data, size_t size) { return u16(crc32c(data, size)); }

}  // namespace stz
