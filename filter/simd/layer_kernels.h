// Adds and removes the lowest bits of codes (quantization indices) for precision layers (format/layers.h). Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

size_t count_nonzero(const u8* code, size_t n) {
  size_t zeros = 0;
  for (size_t i = 0; i < n;) {
    u8 of_part = 0;
    for (const size_t end = n - i < 255 ? n : i + 255; i < end; i++) of_part = u8(of_part + (code[i] == 0));
    zeros += of_part;
  }
  return n - zeros;
}

// Moves the k-th field to the place of the k-th nonzero code; zeros elsewhere. Fields are read beyond the last one that is used.
void spread_fields(const u8* field, const u8* code, size_t n, u8* out) {
  size_t i = 0;
#if defined(STZ_512)
  for (; i + 64 <= n; i += 64) {
    const __mmask64 on = _mm512_test_epi8_mask(_mm512_loadu_si512(code + i), _mm512_loadu_si512(code + i));
    _mm512_storeu_si512(out + i, _mm512_maskz_expand_epi8(on, _mm512_loadu_si512(field)));
    field += __builtin_popcountll(on);
  }
#elif defined(__BMI2__)
  for (; i + 8 <= n; i += 8) {
    u64 z, next;
    __builtin_memcpy(&z, code + i, 8);
    __builtin_memcpy(&next, field, 8);
    u64 set = ((z & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | z;  // the highest bit of every nonzero byte
    set = (set >> 7 & 0x0101010101010101u) * 255;
    next = _pdep_u64(next, set);
    __builtin_memcpy(out + i, &next, 8);
    field += __builtin_popcountll(set) / 8;
  }
#endif
  for (; i < n; i++) {
    out[i] = code[i] ? *field : u8(0);
    field += code[i] != 0;
  }
}

// Appends bits to zig-zag numbers: |code| = |code| << width | low for nonzero codes. The result is 255 if it does not fit, or if the code
// was 255. `low` must be zero for zero codes. Returns whether any result is 255.
bool append_bits(u8* __restrict code, const u8* __restrict low, size_t n, int width) {
  u8 escapes = 0;
  const u32 most = 255u >> width;
  for (size_t i = 0; i < n; i++) {
    const u32 z = code[i], sign = z & 1, even = z + sign;
    u32 joined = (even << width) + 2u * low[i] - sign;
    joined = z ? joined : 0;
    joined = even > most ? 255 : joined;
    escapes |= u8(joined == 255);
    code[i] = u8(joined);
  }
  return escapes != 0;
}

// The same for integers. The most negative one is unchanged. Returns false if a result would exceed `largest`.
template <class Code>
bool append_bits(Code* __restrict code, const u8* __restrict low, size_t n, int width, u64 largest) {
  using U = std::make_unsigned_t<Code>;
  constexpr U outlier = U(1) << (8 * sizeof(U) - 1);
  const U most = U(largest >> width);
  U bad = 0;
  for (size_t i = 0; i < n; i++) {
    const U c = U(code[i]), sign = U(0) - (c >> (8 * sizeof(U) - 1)), size = (c ^ sign) - sign;
    const U joined = ((size << width | low[i]) ^ sign) - sign;
    bad |= U(size > most) & U(c != outlier);
    code[i] = Code(c == outlier ? c : c ? joined : U(0));
  }
  return bad == 0;
}

// Removes the `width` lowest bits of codes given as zig-zag numbers. 255 is treated as a number.
void cut_bits(const u8* __restrict code, size_t n, int width, u8* __restrict out) {
  for (size_t i = 0; i < n; i++) {
    const u32 z = code[i], sign = z & 1, even = (z + sign) >> width & ~1u;
    out[i] = u8(even ? even - sign : 0);
  }
}

// The same for integers. The most negative one is unchanged.
template <class Code>
void cut_bits(const Code* __restrict code, size_t n, int width, Code* __restrict out) {
  using U = std::make_unsigned_t<Code>;
  constexpr U outlier = U(1) << (8 * sizeof(U) - 1);
  for (size_t i = 0; i < n; i++) {
    const U c = U(code[i]), sign = U(0) - (c >> (8 * sizeof(U) - 1)), size = (c ^ sign) - sign;
    out[i] = Code(c == outlier ? c : ((size >> width) ^ sign) - sign);
  }
}

// What a refinement adds to codes with `before` unknown lowest bits before it and `after` after it; before - after is at most 7. `added`:
// for codes that are 0 before it, the zig-zag number of what they become; else 0. `low`: the added bits. `known`: 255 if the code is not 0
// before it, else 0.
template <class Code>
void refine_numbers(const Code* __restrict code, size_t n, int before, int after, u8* __restrict added, u8* __restrict low,
                    u8* __restrict known) {
  using U = std::make_unsigned_t<Code>;
  const U mask = U((U(1) << (before - after)) - 1);
  for (size_t i = 0; i < n; i++) {
    const U c = U(code[i]), negative = c >> (8 * sizeof(U) - 1), sign = U(0) - negative, size = (c ^ sign) - sign;
    const U bits = (size >> after) & mask;
    const bool was = size >> before != 0;
    added[i] = u8(was || !bits ? U(0) : U(2 * bits - negative));
    low[i] = u8(bits);
    known[i] = was ? u8(255) : u8(0);
  }
}
void refine_bytes(const u8* __restrict code, size_t n, int before, int after, u8* __restrict added, u8* __restrict low,
                  u8* __restrict known) {
  const u32 mask = (1u << (before - after)) - 1;
  for (size_t i = 0; i < n; i++) {
    const u32 z = code[i], negative = z & 1, size = (z + negative) >> 1, bits = (size >> after) & mask;
    const bool was = size >> before != 0;
    added[i] = u8(was || !bits ? 0 : 2 * bits - negative);
    low[i] = u8(bits);
    known[i] = was ? u8(255) : u8(0);
  }
}

// Packs the fields of codes that are known. Returns their number; `fields` has room for n.
size_t pack_fields(const u8* __restrict low, const u8* __restrict known, size_t n, u8* __restrict fields) {
  size_t count = 0, i = 0;
#if defined(STZ_512)
  for (; i + 64 <= n; i += 64) {
    const __mmask64 on = _mm512_movepi8_mask(_mm512_loadu_si512(known + i));
    _mm512_storeu_si512(fields + count, _mm512_maskz_compress_epi8(on, _mm512_loadu_si512(low + i)));
    count += size_t(__builtin_popcountll(on));
  }
#endif
  for (; i < n; i++) {
    fields[count] = low[i];
    count += known[i] != 0;
  }
  return count;
}

}  // namespace
}  // namespace stz
