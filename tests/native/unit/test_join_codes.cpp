// Codes and the bits that refinements add to them: joined as the numbers are, whether codes are bytes or numbers, outliers among them.
#include "decoder/join_codes.h"

#include "unit.h"

using namespace unit;

namespace {

struct Case {
  std::vector<i64> codes;  // outlier_mark: an outlier
  std::vector<u64> bits;   // of outliers
};

Case random_codes(Random& random, size_t n, int most_bits) {
  Case c;
  for (size_t i = 0; i < n; i++) {
    const bool outlier = random.chance(0.05);
    c.codes.push_back(outlier ? outlier_mark : random.chance(0.3) ? 0 : random.signed_magnitude(random.chance(0.9) ? 6 : most_bits));
    c.bits.push_back(outlier ? random.of_width(32) : 0);
  }
  return c;
}

template <class Code>
ClassCodes<Code> stored(const Case& c, bool as_bytes) {
  const size_t n = c.codes.size();
  ClassCodes<Code> codes;
  codes.as_bytes = true;
  codes.bytes.resize(n + row_slack);
  for (size_t i = 0; i < n; i++) {
    const i64 code = c.codes[i];
    const bool wide = code == outlier_mark || code > 126 || code < -127;
    codes.bytes[i] = wide ? u8(255) : u8(zigzag(code));
    if (wide) codes.wide_codes.push_back({u32(i), code, c.bits[i]});
  }
  if (!as_bytes) make_numbers(codes, n);
  return codes;
}

template <class Code>
void join(Random& random, bool as_bytes) {
  constexpr int most_bits = sizeof(Code) == 4 ? 20 : 40;
  Case c = random_codes(random, 1 + random.below(300), most_bits);
  const size_t n = c.codes.size();
  ClassCodes<Code> codes = stored<Code>(c, as_bytes);
  CodeJoiner<Code> joiner;
  joiner.start(codes, n);
  const int width = 1 + int(random.below(8));
  u8* field = joiner.fields();
  size_t nonzero = 0;
  for (i64& code : c.codes) {
    if (code == 0) continue;
    nonzero++;
    const u8 low = u8(random.below(u64(1) << width));
    *field++ = low;
    if (code == outlier_mark) continue;
    const i64 size = ((code < 0 ? -code : code) << width) + low;
    code = code < 0 ? -size : size;
  }
  CHECK(joiner.nonzero() == nonzero);
  joiner.append(width);
  make_numbers(codes, n);
  auto outlier = codes.outliers.begin();
  for (size_t i = 0; i < n; i++) {
    const bool is_outlier = c.codes[i] == outlier_mark;
    CHECK(codes.numbers[i] == (is_outlier ? outlier_code<Code> : Code(c.codes[i])), "code %zu of %zu, %d bits", i, n, width);
    if (is_outlier) CHECK((outlier++)->bits == c.bits[i], "outlier %zu", i);
  }
  CHECK(outlier == codes.outliers.end());
}

}  // namespace

TEST(added_bits_stand_below_those_that_are_there) {
  Random random(1);
  for (int k = 0; k < 2000; k++) {
    join<i32>(random, true);
    join<i64>(random, true);
    join<i32>(random, false);
    join<i64>(random, false);
  }
}

TEST(codes_that_become_too_large_are_damage) {
  for (const bool negative : {false, true}) {
    Case c;
    c.codes = {5, negative ? -(i64(1) << 58) : i64(1) << 58, 0};
    c.bits = {0, 0, 0};
    ClassCodes<i64> codes = stored<i64>(c, true);
    CodeJoiner<i64> joiner;
    joiner.start(codes, 3);
    u8* const fields = joiner.fields();
    fields[0] = fields[1] = 0;
    CHECK(failure_of([&] { joiner.append(4); }) == STZ_ERROR_CORRUPT);
  }
}
