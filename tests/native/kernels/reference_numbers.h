// References for the kernels on arrays of codes, elements and bytes: activities, scans, CRC-32C, contexts, bins.
// Included by reference.cpp only.
#pragma once
#include "harness.h"

namespace check {
namespace {

// ---------------------------------------------------------------- codes and elements

template <class Code>
u64 size_of(Code code) {
  return code < 0 ? u64(0) - u64(i64(code)) : u64(code);  // of the most negative code: 2^31 or 2^63
}

template <class Code>
u64 largest(const Code* code, int n) {
  u64 most = 0;
  for (int i = 0; i < n; i++) most = std::max(most, size_of(code[i]));
  return most;
}

template <class Code>
void activity(const Code* code, int n, int right, int left, u32 factor, u8* out) {
  for (int i = 0; i < n; i++) {
    const u64 size = std::min<u64>(size_of(code[i]) >> right, 511);
    out[i] = u8(std::min<u64>(((size << left) * factor) >> 12, 255));
  }
}

// 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ...
template <class Code>
u64 zigzag_of(Code code) {
  return code < 0 ? 2 * u64(-(i64(code) + 1)) + 1 : 2 * u64(code);
}

template <class Code>
void split(const Code* code, size_t n, int shift, u8* symbols, std::make_unsigned_t<Code>* low) {
  for (size_t i = 0; i < n; i++) {
    const u64 z = zigzag_of(code[i]);
    symbols[i] = u8(std::min<u64>(z >> shift, 255));
    low[i] = code[i] == std::numeric_limits<Code>::min() ? 0 : std::make_unsigned_t<Code>(z & ((u64(1) << shift) - 1));
  }
}

template <class Code>
void join(const u8* symbols, const std::make_unsigned_t<Code>* low, size_t n, int shift, Code* code) {
  for (size_t i = 0; i < n; i++) {
    const u64 z = std::make_unsigned_t<Code>((u64(symbols[i]) << shift) + low[i]);
    code[i] = z % 2 ? Code(-i64(z / 2) - 1) : Code(z / 2);
  }
}

template <class T>
std::make_unsigned_t<CodeOf<T>> scan(const T* x, size_t n, std::make_unsigned_t<CodeOf<T>> wanted, bool* equal) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  Bits most = 0;
  *equal = false;
  for (size_t i = 0; i < n; i++) {
    const Bits b = bit_cast_to<Bits>(x[i]);
    most = std::max(most, Bits(b & ~(Bits(1) << (8 * sizeof b - 1))));
    *equal = *equal || b == wanted;
  }
  return most;
}

u32 crc32c(u32 crc, const u8* data, size_t n) {
  for (size_t i = 0; i < n; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return crc;
}

void finish_streaming() {}

// ---------------------------------------------------------------- contexts and activities

constexpr int contexts = 16;

void context(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* out) {
  for (int x = 0; x < n; x++) {
    u64 total = 0;
    const std::ptrdiff_t* offset = taps.offset;
    for (int g = 0; g < taps.groups; g++)
      for (int t = 0; t < taps.taps[g]; t++) total += u64(weights[g]) * row[x + *offset++];
    out[x] = 0;
    for (int k = 1; k < contexts; k++) out[x] = u8(out[x] + (thresholds[k] <= u16(total)));
  }
}

void activities(const u8* code, const ClassRows& rows, const u8* table, u8* out) {
  for (i64 i = 0; i < rows.n[0]; i++)
    for (i64 j = 0; j < rows.n[1]; j++)
      for (i64 k = 0; k < rows.n[2]; k++)
        for (i64 x = 0; x < rows.n[3]; x++) out[i * rows.stride[0] + j * rows.stride[1] + k * rows.stride[2] + x] = table[*code++];
}

// ---------------------------------------------------------------- bins

void count_contexts(const u8* context, size_t n, size_t* counts) {
  std::fill(counts, counts + contexts, size_t(0));
  for (size_t i = 0; i < n; i++)
    if (context[i] < contexts) counts[context[i]]++;
}

void partition_by_context(const u8* code, const u8* context, size_t n, u8* bins, size_t pitch, size_t* counts) {
  std::fill(counts, counts + contexts, size_t(0));
  for (size_t i = 0; i < n; i++)
    if (const size_t k = context[i]; k < contexts) bins[k * pitch + counts[k]++] = code[i];
}

void merge_contexts(const u8* bins, size_t pitch, const u8* context, size_t n, u8* code) {
  size_t taken[contexts] = {};
  for (size_t i = 0; i < n; i++) {
    const size_t k = context[i];
    code[i] = k < contexts ? bins[k * pitch + taken[k]++] : u8(0);
  }
}

// ---------------------------------------------------------------- symbols and raw bits

u8 largest_byte(const u8* code, size_t n) { return n ? *std::max_element(code, code + n) : u8(0); }

size_t find(const u8* code, size_t n, u8 least, u32* index) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (code[i] >= least) index[count++] = u32(i);
  return count;
}

void shift(u8* code, size_t n, int by) {
  for (size_t i = 0; i < n; i++) code[i] = u8(code[i] >> by);
}

void gather_low_bits(const u8* code, size_t words, int shift, u64* out) {
  for (size_t w = 0; w < words; w++) {
    out[w] = 0;
    for (int bit = 0; bit < 8 * shift; bit++) out[w] |= u64(code[8 * w + size_t(bit / shift)] >> (bit % shift) & 1) << bit;
  }
}

void spread_low_bits(const u64* in, size_t words, int shift, u8* code) {
  for (size_t i = 0; i < 8 * words; i++) {
    const u64 low = in[i / 8] >> (i % 8 * size_t(shift)) & ((1u << shift) - 1);
    code[i] = u8(u64(code[i]) << shift | low);
  }
}

}  // namespace
}  // namespace check
