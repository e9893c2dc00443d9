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
void cut_codes(const ClassCodes<Code>& whole, size_t n, int bits, ClassCodes<Code>& cut) {
  cut.as_bytes = whole.as_bytes;
  cut.wide_codes.clear();
  cut.outliers = whole.outliers;
  auto shorter = [bits](i64 code) { return code < 0 ? -i64(size_of(code) >> bits) : code >> bits; };
  if (!whole.as_bytes) {
    cut.numbers.resize(n + row_slack);
    Code* const to = cut.numbers.data();
    for_codes(whole, n, [&](size_t i, i64 code) { to[i] = code == outlier_mark ? outlier_code<Code> : Code(shorter(code)); });
    return;
  }
  cut.bytes.resize(n + row_slack);
  kernels().bytes.cut_bits(whole.bytes.data(), n, bits, cut.bytes.data());
  for (const WideCode& e : whole.wide_codes) {
    const i64 code = e.code == outlier_mark ? outlier_mark : shorter(e.code);
    const u64 z = code == outlier_mark ? byte_escape : zigzag(code);
    cut.bytes[e.index] = u8(std::min<u64>(z, byte_escape));
    if (z >= byte_escape) cut.wide_codes.push_back({e.index, code, e.bits});
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

template void cut_codes(const ClassCodes<i32>&, size_t, int, ClassCodes<i32>&);
template void cut_codes(const ClassCodes<i64>&, size_t, int, ClassCodes<i64>&);
template void refine_codes(const ClassCodes<i32>&, const u8*, size_t, int, int, RefinedCodes<i32>&);
template void refine_codes(const ClassCodes<i64>&, const u8*, size_t, int, int, RefinedCodes<i64>&);

}  // namespace stz
