// CRC-32C by the processor's instruction, or by slicing over eight tables, which are computed at compile time.
#include "format/checksum.h"

#include <array>

#include "simd/kernels.h"

namespace stz {
namespace {

using Tables = std::array<std::array<u32, 256>, 8>;

constexpr Tables make_tables() {
  Tables t{};
  for (u32 i = 0; i < 256; i++) {
    u32 c = i;
    for (int k = 0; k < 8; k++) c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0);
    t[0][i] = c;
  }
  for (size_t s = 1; s < 8; s++)
    for (size_t i = 0; i < 256; i++) t[s][i] = (t[s - 1][i] >> 8) ^ t[0][t[s - 1][i] & 255];
  return t;
}
constexpr Tables tables = make_tables();

}  // namespace

u32 crc32c(const u8* p, size_t n, u32 before) {
  u32 c = ~before;
  if (auto instruction = kernels().crc32c) return ~instruction(c, p, n);
  for (; n >= 8; n -= 8, p += 8) {
    u64 v = load_le<u64>(p) ^ c;
    c = 0;
    for (int k = 0; k < 8; k++) c ^= tables[size_t(7 - k)][(v >> (8 * k)) & 255];
  }
  for (; n; n--, p++) c = (c >> 8) ^ tables[0][(c ^ *p) & 255];
  return ~c;
}

}  // namespace stz
