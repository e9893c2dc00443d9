#include "decoder/join_codes.h"

#include <algorithm>

namespace stz {
namespace {

// A code that is not zero with further bits.
template <class Code>
inline i64 with_bits(i64 code, int width, u64 bits) {
  const u64 size = u64(code < 0 ? -code : code);
  require(size <= largest_code<Code> >> width, STZ_ERROR_CORRUPT);
  const i64 longer = i64(size << width | bits);
  return code < 0 ? -longer : longer;
}

// Puts codes in place of bytes, wide ones into the list. `code_of(i, z, code)`: what the byte z, or the wide code that it announces, becomes.
template <class Code, class F>
void replace_wide(ClassCodes<Code>& codes, const Buffer<u32>& places, size_t count, const std::vector<WideCode>& before, F code_of) {
  codes.wide_codes.clear();
  auto old = before.begin();
  for (size_t k = 0; k < count; k++) {
    const u32 i = places[k];
    if (old != before.end() && old->index == i && old->code == outlier_mark) {
      codes.wide_codes.push_back(*old++);
      continue;
    }
    const i64 code = code_of(i, old != before.end() && old->index == i ? (old++)->code : 0);
    if (zigzag(code) < byte_escape)
      codes.bytes[i] = u8(zigzag(code));
    else
      codes.wide_codes.push_back({i, code, 0});
  }
}

// Bytes for the bits of codes that are not zero, spread to the places of these.
template <class Bits>
void spread(const u8* bytes, size_t n, const Bits* bits, u8* low) {
  for (size_t i = 0; i < n; i++) {
    low[i] = u8(*bits);
    bits += bytes[i] != 0;
  }
}

template <class Code>
void add_bits_to_bytes(ClassCodes<Code>& codes, size_t n, int width, const u8* added, const std::make_unsigned_t<Code>* bits) {
  Buffer<u8> low(n + row_slack), old(n + row_slack);
  spread(codes.bytes.data(), n, bits, low.data());
  std::copy_n(codes.bytes.data(), n, old.data());
  u8* const z = codes.bytes.data();
  for (size_t i = 0; i < n; i++) {
    const u32 sign = old[i] & 1u, joined = ((u32(old[i]) + sign) << width) + 2u * low[i] - sign;
    z[i] = old[i] ? u8(joined < byte_escape ? joined : byte_escape) : added[i];
  }
  Buffer<u32> places(n + row_slack);
  const size_t count = kernels().bytes.find(z, n, byte_escape, places.data());
  if (!count) return codes.wide_codes.clear();
  const std::vector<WideCode> before = std::move(codes.wide_codes);
  replace_wide(codes, places, count, before,
               [&](u32 i, i64 wide) { return with_bits<Code>(wide ? wide : unzigzag(old[i]), width, low[i]); });
}

}  // namespace

template <class Code>
size_t nonzero_codes(const ClassCodes<Code>& codes, size_t n) {
  size_t count = 0;
  if (codes.as_bytes)
    for (size_t i = 0; i < n; i++) count += codes.bytes[i] != 0;
  else
    for (size_t i = 0; i < n; i++) count += codes.numbers[i] != 0;
  return count;
}

template <class Code>
void contexts_of_zeros(const ClassCodes<Code>& codes, const u8* context, size_t n, Buffer<u8>& of_zeros) {
  of_zeros.resize(n + row_slack);
  u8* const out = of_zeros.data();
  if (codes.as_bytes) {
    const u8* const bytes = codes.bytes.data();
    for (size_t i = 0; i < n; i++) out[i] = u8(context[i] | (bytes[i] ? no_context : 0));
  } else {
    const Code* const numbers = codes.numbers.data();
    for (size_t i = 0; i < n; i++) out[i] = u8(context[i] | (numbers[i] ? no_context : 0));
  }
}

template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n) {
  if (!codes.as_bytes) return;
  codes.as_bytes = false;
  codes.numbers.resize(n + row_slack);
  codes.outliers.clear();
  for (size_t i = 0; i < n; i++) codes.numbers[i] = Code(unzigzag(codes.bytes[i]));
  for (const WideCode& e : codes.wide_codes) {
    codes.numbers[e.index] = e.code == outlier_mark ? outlier_code<Code> : Code(e.code);
    if (e.code == outlier_mark) codes.outliers.push_back({e.index, e.bits});
  }
  codes.wide_codes.clear();
}

template <class Code>
void add_bits(ClassCodes<Code>& codes, size_t n, int width, const ClassCodes<Code>& added, const std::make_unsigned_t<Code>* bits) {
  if (codes.as_bytes) return add_bits_to_bytes(codes, n, width, added.bytes.data(), bits);
  Code* const code = codes.numbers.data();
  for (size_t i = 0; i < n; i++) {
    if (code[i] == 0) {
      code[i] = added.as_bytes ? Code(unzigzag(added.bytes[i])) : added.numbers[i];
      continue;
    }
    if (code[i] != outlier_code<Code>) code[i] = Code(with_bits<Code>(code[i], width, *bits));
    bits++;
  }
}

template <class Code>
void complete_codes(ClassCodes<Code>& codes, size_t n, int missing) {
  const u64 middle = u64(1) << (missing - 1);
  auto completed = [&](i64 code) { return code ? with_bits<Code>(code, missing, middle) : 0; };
  if (!codes.as_bytes) {
    for (size_t i = 0; i < n; i++)
      if (codes.numbers[i] != outlier_code<Code>) codes.numbers[i] = Code(completed(codes.numbers[i]));
    return;
  }
  u8 table[256];
  for (u64 z = 0; z < 256; z++) table[z] = z == byte_escape ? byte_escape : u8(std::min<u64>(zigzag(completed(unzigzag(z))), byte_escape));
  Buffer<u8> old(n + row_slack);
  std::copy_n(codes.bytes.data(), n, old.data());
  for (size_t i = 0; i < n; i++) codes.bytes[i] = table[old[i]];
  Buffer<u32> places(n + row_slack);
  const size_t count = kernels().bytes.find(codes.bytes.data(), n, byte_escape, places.data());
  const std::vector<WideCode> before = std::move(codes.wide_codes);
  replace_wide(codes, places, count, before, [&](u32 i, i64 wide) { return completed(wide ? wide : unzigzag(old[i])); });
}

#define STZ_INSTANTIATE(Code)                                                                                                  \
  template size_t nonzero_codes(const ClassCodes<Code>&, size_t);                                                              \
  template void contexts_of_zeros(const ClassCodes<Code>&, const u8*, size_t, Buffer<u8>&);                                    \
  template void make_numbers(ClassCodes<Code>&, size_t);                                                                       \
  template void add_bits(ClassCodes<Code>&, size_t, int, const ClassCodes<Code>&, const std::make_unsigned_t<Code>*);          \
  template void complete_codes(ClassCodes<Code>&, size_t, int);
STZ_INSTANTIATE(i32)
STZ_INSTANTIATE(i64)

}  // namespace stz
