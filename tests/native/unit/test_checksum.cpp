// The CRCs have their published values, may be computed piece by piece, and detect what their polynomials promise.
#include "coding/checksum.h"

#include <algorithm>

#include "unit.h"

using namespace unit;

namespace {

constexpr u8 digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};

}  // namespace

TEST(published_values) {
  CHECK(crc32c(digits, 9) == 0xe3069283u);
  CHECK(crc16(digits, 9) == 0x906eu);
}

TEST(pieces_give_the_same_as_the_whole) {
  Random random(1);
  for (int turn = 0; turn < 2000; turn++) {
    Bytes bytes(random.below(600));
    for (u8& b : bytes) b = u8(random.bits());
    const size_t cut = random.below(bytes.size() + 1), rest = bytes.size() - cut;
    const u8* more = bytes.data() + cut;
    CHECK(crc32c(more, rest, crc32c(bytes.data(), cut)) == crc32c(bytes.data(), bytes.size()));
    CHECK(crc16(more, rest, crc16(bytes.data(), cut)) == crc16(bytes.data(), bytes.size()));
    const Check whole = check_of(bytes.data(), bytes.size()), pieces = check_of(bytes.data(), cut, more, rest);
    CHECK(whole.crc == pieces.crc && whole.size == pieces.size);
  }
}

TEST(checks_have_two_bytes_below_256_bytes) {
  const Bytes bytes(300, 7);
  for (size_t n : {0, 1, 255, 256, 300}) {
    const Check check = check_of(bytes.data(), n);
    CHECK(check.size == (n < 256 ? 2 : 4) && check.crc == (n < 256 ? crc16(bytes.data(), n) : crc32c(bytes.data(), n)), "%zu bytes", n);
  }
}

// What one wrong bit does to the CRC-16 of so many bytes and to the two bytes of it, for every bit. All are different and odd multiples of
// x + 1 are never zero: so up to three wrong bits are noticed.
TEST(three_wrong_bits_are_noticed_by_crc16) {
  Bytes bytes(255);
  const u16 right = crc16(bytes.data(), bytes.size());
  std::vector<u16> syndromes;
  for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
    bytes[bit / 8] ^= u8(1 << bit % 8);
    syndromes.push_back(crc16(bytes.data(), bytes.size()) ^ right);
    bytes[bit / 8] ^= u8(1 << bit % 8);
  }
  for (int bit = 0; bit < 16; bit++) syndromes.push_back(u16(1 << bit));
  std::vector<bool> one(65536), two(65536);
  for (u16 s : syndromes) {
    CHECK(s != 0 && !one[s]);
    one[s] = true;
  }
  for (size_t a = 0; a < syndromes.size(); a++)
    for (size_t b = 0; b < a; b++) two[syndromes[a] ^ syndromes[b]] = true;
  for (u16 s : syndromes) CHECK(!two[s], "three wrong bits");
}
