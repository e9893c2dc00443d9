#include "encoder/split_codes.h"

#include <algorithm>

#include "format/layers.h"

namespace stz {
namespace {

// Calls f(i, code or outlier_mark) for all codes of a class in raster order.
template <class Code, class F>
void for_codes(const ClassCodes<Code>& codes, size_t n, F f) {
  if (!codes.as_bytes) {
    const Code* code = codes.numbers.data();
    for (size_t i = 0; i < n; i++) f(i, code[i] == outlier_code<Code> ? outlier_mark : i64(code[i]));
    return;
  }
  const u8* bytes = codes.bytes.data();
  auto wide = codes.wide_codes.begin();
  for (size_t i = 0; i < n; i++) f(i, bytes[i] == byte_escape ? (wide++)->code : unzigzag(bytes[i]));
}

inline u64 size_of(i64 code) { return u64(code < 0 ? -code : code); }

}  // namespace

template <class Code>
void leave_out_bits(ClassCodes<Code>& codes, size_t n, int bits, ClassCodes<Code>& whole) {
  std::swap(codes, whole);
  codes.as_bytes = whole.as_bytes;
  codes.wide_codes.clear();
  codes.outliers = whole.outliers;
  auto shorter = [bits](i64 code) { return code < 0 ? -i64(size_of(code) >> bits) : code >> bits; };
  if (!whole.as_bytes) {
    codes.numbers.resize(n + row_slack);
    Code* const to = codes.numbers.data();
    for_codes(whole, n, [&](size_t i, i64 code) { to[i] = code == outlier_mark ? outlier_code<Code> : Code(shorter(code)); });
    return;
  }
  codes.bytes.resize(n + row_slack);
  u8 table[256];
  for (int z = 0; z < 256; z++) table[z] = u8(zigzag(shorter(unzigzag(u64(z)))));
  for (size_t i = 0; i < n; i++) codes.bytes[i] = table[whole.bytes[i]];
  for (const WideCode& e : whole.wide_codes) {
    const u64 z = e.code == outlier_mark ? byte_escape : zigzag(shorter(e.code));
    codes.bytes[e.index] = u8(std::min<u64>(z, byte_escape));
    if (z >= byte_escape) codes.wide_codes.push_back({e.index, e.code == outlier_mark ? outlier_mark : shorter(e.code), e.bits});
  }
}

template <class Code>
void refine_codes(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined) {
  using Bits = std::make_unsigned_t<Code>;
  ClassCodes<Code>& added = refined.codes;
  added.as_bytes = before - after <= largest_byte_bits;
  added.wide_codes.clear();
  added.outliers.clear();
  if (added.as_bytes)
    added.bytes.resize(n + row_slack);
  else
    added.numbers.resize(n + row_slack);
  refined.context.resize(n + row_slack);
  std::copy_n(context, n, refined.context.data());
  refined.bits.resize(n);
  refined.width = before - after;
  const u64 low = (u64(1) << refined.width) - 1;
  Bits* next = refined.bits.data();
  for_codes(whole, n, [&](size_t i, i64 code) {
    const bool known = code == outlier_mark || size_of(code) >> before != 0;
    const i64 added_code = known ? 0 : code < 0 ? -i64(size_of(code) >> after) : code >> after;
    if (added.as_bytes)
      added.bytes[i] = u8(zigzag(added_code));
    else
      added.numbers[i] = Code(added_code);
    *next = code == outlier_mark ? Bits(0) : Bits(size_of(code) >> after & low);
    next += known && context[i] != no_context;
    if (known) refined.context[i] = no_context;
  });
  refined.count = size_t(next - refined.bits.data());
}

template void leave_out_bits(ClassCodes<i32>&, size_t, int, ClassCodes<i32>&);
template void leave_out_bits(ClassCodes<i64>&, size_t, int, ClassCodes<i64>&);
template void refine_codes(const ClassCodes<i32>&, const u8*, size_t, int, int, RefinedCodes<i32>&);
template void refine_codes(const ClassCodes<i64>&, const u8*, size_t, int, int, RefinedCodes<i64>&);

}  // namespace stz
