// Plain loops for the kernels of precision layers.
#pragma once
#include "harness.h"

namespace check {
namespace {

// The code of a zig-zag number, and back.
inline i64 number_of_byte(u8 z) { return z % 2 ? -i64(z / 2) - 1 : z / 2; }
inline u8 byte_of_number(i64 code) { return u8(code < 0 ? -2 * code - 1 : 2 * code); }
inline u64 size_of_number(i64 code) { return code < 0 ? 0 - u64(code) : u64(code); }
inline i64 with_size(i64 code, u64 size) { return code < 0 ? i64(0 - size) : i64(size); }

size_t count_nonzero(const u8* code, size_t n) { return n - size_t(std::count(code, code + n, u8(0))); }

void spread_fields(const u8* field, const u8* code, size_t n, u8* out) {
  for (size_t i = 0; i < n; i++) out[i] = code[i] ? *field++ : u8(0);
}

bool append_bits(u8* code, const u8* low, size_t n, int width) {
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    if (code[i] == 0) continue;
    const u64 size = code[i] == 255 ? 255 : size_of_number(number_of_byte(code[i])) << width | low[i];
    code[i] = size > 127 ? u8(255) : byte_of_number(with_size(number_of_byte(code[i]), size));
    any |= code[i] == 255;
  }
  return any;
}

void cut_bits(const u8* code, size_t n, int width, u8* out) {
  for (size_t i = 0; i < n; i++)
    out[i] = byte_of_number(with_size(number_of_byte(code[i]), size_of_number(number_of_byte(code[i])) >> width));
}

void refine_one(i64 code, u64 size, int before, int after, u8& added, u8& low, u8& known) {
  const u64 bits = (size >> after) % (u64(1) << (before - after));
  known = size >> before ? 255 : 0;
  low = u8(bits);
  added = known ? u8(0) : byte_of_number(with_size(code, bits));
}
void refine(const u8* code, size_t n, int before, int after, u8* added, u8* low, u8* known) {
  for (size_t i = 0; i < n; i++)
    refine_one(number_of_byte(code[i]), size_of_number(number_of_byte(code[i])), before, after, added[i], low[i], known[i]);
}

size_t pack_fields(const u8* low, const u8* known, size_t n, u8* fields) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (known[i]) fields[count++] = low[i];
  return count;
}

template <class Code>
constexpr Code no_code = Code(u64(1) << (8 * sizeof(Code) - 1));

template <class Code>
bool append_bits(Code* code, const u8* low, size_t n, int width, u64 largest) {
  bool fit = true;
  for (size_t i = 0; i < n; i++) {
    if (code[i] == 0 || code[i] == no_code<Code>) continue;
    fit &= size_of_number(code[i]) <= largest >> width;
    code[i] = Code(with_size(code[i], size_of_number(code[i]) << width | low[i]));
  }
  return fit;
}

template <class Code>
void cut_bits(const Code* code, size_t n, int width, Code* out) {
  for (size_t i = 0; i < n; i++) out[i] = code[i] == no_code<Code> ? code[i] : Code(with_size(code[i], size_of_number(code[i]) >> width));
}

template <class Code>
void refine(const Code* code, size_t n, int before, int after, u8* added, u8* low, u8* known) {
  for (size_t i = 0; i < n; i++) refine_one(code[i], size_of_number(code[i]), before, after, added[i], low[i], known[i]);
}

}  // namespace
}  // namespace check
