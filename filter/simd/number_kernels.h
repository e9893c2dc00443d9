// Codes (quantization indices) as numbers of 32 or 64 bits: symbols and low bits. Included by kernels.cpp only.
#pragma once
#include "simd/vectors.h"

namespace stz {
namespace {

template <class Code>
void split(const Code* __restrict code, size_t n, int shift, u8* __restrict symbols, std::make_unsigned_t<Code>* __restrict low) {
  using U = std::make_unsigned_t<Code>;
  constexpr int width = 8 * int(sizeof(Code));
  const U mask = U((U(1) << shift) - 1);
  for (size_t i = 0; i < n; i++) {
    const U c = U(code[i]), z = U(c << 1) ^ U(0 - (c >> (width - 1))), v = z >> shift;
    symbols[i] = u8(v < 255 ? v : U(255));
    low[i] = c == U(1) << (width - 1) ? U(0) : U(z & mask);
  }
}

template <class Code>
void join(const u8* __restrict symbols, const std::make_unsigned_t<Code>* __restrict low, size_t n, int shift, Code* __restrict code) {
  using U = std::make_unsigned_t<Code>;
  for (size_t i = 0; i < n; i++) {
    const U z = U(U(symbols[i]) << shift) | low[i];
    code[i] = Code((z >> 1) ^ U(0 - (z & 1)));
  }
}

}  // namespace
}  // namespace stz
