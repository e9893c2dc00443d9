#include "encoder/block/split_codes.h"

#include <algorithm>

namespace stz {
namespace {

constexpr int bits_of_bytes = 8;  // removing this many bits leaves nothing of a byte code; kernels shift by at most this

inline u64 size_of(i64 code) { return u64(code < 0 ? -code : code); }
inline i64 without_bits(i64 code, int bits) { return code < 0 ? -i64(size_of(code) >> bits) : code >> bits; }

// What a refinement adds to a code of any size: the new code if it was 0 before, else its next bits.
struct Added {
  i64 code;
  u64 bits;
  bool known;
};
inline Added added_to(i64 code, int before, int after) {
  if (code == outlier_mark) return {0, 0, true};
  const bool known = size_of(code) >> before != 0;
  return {known ? 0 : without_bits(code, after), size_of(code) >> after & ((u64(1) << (before - after)) - 1), known};
}

// For more than 7 bits: as numbers, one by one.
template <class Code>
void refine_numbers(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined) {
  refined.codes.numbers.resize(n + row_slack);
  auto wide = whole.wide_codes.begin();
  for (size_t i = 0; i < n; i++) {
    i64 code;
    if (whole.as_bytes)
      code = whole.bytes[i] == byte_escape ? (wide++)->code : unzigzag(whole.bytes[i]);
    else
      code = whole.numbers[i] == outlier_code<Code> ? outlier_mark : i64(whole.numbers[i]);
    const Added added = added_to(code, before, after);
    refined.codes.numbers[i] = Code(added.code);
    refined.context[i] = u8(context[i] | (added.known ? no_context : 0));
    if (added.known && context[i] != no_context) refined.long_bits.push_back(added.bits);
  }
  refined.count = refined.long_bits.size();
}

}  // namespace

template <class Code>
void cut_codes(const ClassCodes<Code>& whole, size_t n, int bits, ClassCodes<Code>& cut) {
  cut.as_bytes = whole.as_bytes;
  cut.wide_codes.clear();
  cut.outliers = whole.outliers;
  if (!whole.as_bytes) {
    cut.numbers.resize(n + row_slack);
    code_kernels<Code>().cut_bits(whole.numbers.data(), n, bits, cut.numbers.data());
    return;
  }
  cut.bytes.resize(n + row_slack);
  kernels().bytes.cut_bits(whole.bytes.data(), n, std::min(bits, bits_of_bytes), cut.bytes.data());
  for (const WideCode& e : whole.wide_codes) {
    const i64 code = e.code == outlier_mark ? outlier_mark : without_bits(e.code, bits);
    const u64 z = code == outlier_mark ? byte_escape : zigzag(code);
    cut.bytes[e.index] = u8(std::min<u64>(z, byte_escape));
    if (z >= byte_escape) cut.wide_codes.push_back({e.index, code, e.bits});
  }
}

template <class Code>
void refine_codes(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined) {
  ClassCodes<Code>& added = refined.codes;
  refined.width = before - after;
  added.as_bytes = refined.width <= largest_byte_bits;
  added.wide_codes.clear();
  added.outliers.clear();
  refined.context.resize(n + row_slack);
  refined.long_bits.clear();
  if (!added.as_bytes) return refine_numbers(whole, context, n, before, after, refined);
  added.bytes.resize(n + row_slack);
  refined.low.resize(n + row_slack);
  refined.known.resize(n + row_slack);
  refined.bits.resize(n + row_slack);
  u8 *const low = refined.low.data(), *const known = refined.known.data();
  if (whole.as_bytes) {
    kernels().bytes.refine(whole.bytes.data(), n, std::min(before, bits_of_bytes), std::min(after, bits_of_bytes), added.bytes.data(), low,
                           known);
    for (const WideCode& e : whole.wide_codes) {
      const Added one = added_to(e.code, before, after);
      added.bytes[e.index] = u8(zigzag(one.code));
      low[e.index] = u8(one.bits);
      known[e.index] = one.known ? 255 : 0;
    }
  } else {
    code_kernels<Code>().refine(whole.numbers.data(), n, before, after, added.bytes.data(), low, known);
  }
  // Masked samples have code 0 and are never known.
  refined.count = kernels().bytes.pack_fields(low, known, n, refined.bits.data());
  for (size_t i = 0; i < n; i++) refined.context[i] = u8(context[i] | known[i]);
}

template void cut_codes(const ClassCodes<i32>&, size_t, int, ClassCodes<i32>&);
template void cut_codes(const ClassCodes<i64>&, size_t, int, ClassCodes<i64>&);
template void refine_codes(const ClassCodes<i32>&, const u8*, size_t, int, int, RefinedCodes<i32>&);
template void refine_codes(const ClassCodes<i64>&, const u8*, size_t, int, int, RefinedCodes<i64>&);

}  // namespace stz
