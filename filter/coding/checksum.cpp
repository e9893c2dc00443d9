// CRC-32C uses the processor's instruction if there is one. Otherwise, and for CRC-16, slicing over eight tables made at compile time.
#include "coding/checksum.h"

#include <array>

#include "simd/kernels.h"

namespace stz {
namespace {

template <class Crc>
using Tables = std::array<std::array<Crc, 256>, 8>;

template <class Crc>
constexpr Tables<Crc> make_tables(Crc polynomial) {
  Tables<Crc> t{};
  for (u32 i = 0; i < 256; i++) {
    u32 c = i;
    for (int k = 0; k < 8; k++) c = (c >> 1) ^ (c & 1 ? polynomial : 0);
    t[0][i] = Crc(c);
  }
  for (size_t s = 1; s < 8; s++)
    for (size_t i = 0; i < 256; i++) t[s][i] = Crc((t[s - 1][i] >> 8) ^ t[0][t[s - 1][i] & 255]);
  return t;
}
constexpr Tables<u32> tables32 = make_tables<u32>(0x82F63B78u);
constexpr Tables<u16> tables16 = make_tables<u16>(0x8408u);

template <class Crc>
Crc sliced(const Tables<Crc>& tables, Crc c, const u8* p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    u64 v = load_le<u64>(p) ^ c;
    c = 0;
    for (int k = 0; k < 8; k++) c ^= tables[size_t(7 - k)][(v >> (8 * k)) & 255];
  }
  for (; n; n--, p++) c = Crc((c >> 8) ^ tables[0][(c ^ *p) & 255]);
  return c;
}

}  // namespace

u32 crc32c(const u8* p, size_t n, u32 before) {
  if (auto instruction = kernels().crc32c) return ~instruction(~before, p, n);
  return ~sliced(tables32, ~before, p, n);
}

u16 crc16(const u8* p, size_t n, u16 before) { return u16(~sliced(tables16, u16(~before), p, n)); }

#ifdef STZ_FUZZING  // fuzzing accepts every check, so that mutated streams reach the code behind it
void require_check(const Check&, const u8*) {}
#else
void require_check(const Check& check, const u8* stored) {
  for (size_t i = 0; i < check.size; i++) require(stored[i] == u8(check.crc >> (8 * i)), STZ_ERROR_CHECKSUM);
}
#endif

}  // namespace stz
