// The built-in symbol distributions, and the mapping of codes (quantization indices) to symbols. Constant once built.
//
// A code c is coded as its zig-zag number z (0, -1, 1, -2, 2 ... -> 0, 1, 2, 3, 4 ...). *Direct mode* codes v = z >> shift as a symbol and
// the low bits raw. *Run-length mode*, for contexts in which nearly all codes are zero, codes zero runs and the numbers z - 1 between them.
// Symbols 0..32 are v itself. Symbols 33..44 stand for v = 33..256 by exponent and two mantissa bits; the other bits are raw. Larger v, and
// symbols that a table lacks, are coded by its escape: six raw bits e, then v + 1 - 2^e in e raw bits. e = 63 marks an outlier.
#pragma once
#include "base/common.h"

namespace stz {

constexpr int probability_bits = 12;
constexpr u32 probability_total = 1u << probability_bits;
constexpr int plain_symbols = 33, value_symbols = 45, zero_run_symbols = 48;
constexpr int shapes = 4, unshifted_scales = 36, scale_limit = unshifted_scales + 4 * 61;
constexpr int zero_run_tables = 48, value_tables = 32;
constexpr int outlier_exponent = 63;

// For encoding a symbol of frequency f whose part of the interval begins at `start`: x -> x + bias + quotient * (4096 - f), with quotient =
// x / f = (x * reciprocal >> 32) >> shift. step: f | bias << 12 | shift << 28.
struct RansStep {
  u32 reciprocal, step;
};
RansStep rans_step(u32 f, u32 start);

struct CodeTable {
  int count;                     // symbols with a frequency; symbol `count` is the escape
  u16 freq[50];                  // of 4096
  u16 cost[50];                  // in 1/256 bit
  u32 mean_cost;                 // expected cost, in 1/256 bit
  u32 reciprocal[64], step[64];  // RansStep of each symbol
  const u32* decoding() const;   // 4096 entries: symbol | freq << 8 | offset << 20; built on first use
  mutable u32* decoding_ = nullptr;
};

// The model of one context.
struct Model {
  bool run_length = false;
  u8 shape = 0, zero_run = 0, value = 0;
  u16 scale = 0;  // of direct mode, in quarter octaves: 2^(scale / 4 - 5) codes
  // If not 0, codes are even and stored as fields of this many raw bits (refinements only); other members are unused.
  u8 even_bits = 0;
  bool operator==(const Model&) const = default;
  int shift() const { return run_length || scale < unshifted_scales ? 0 : 1 + (scale - unshifted_scales) / 4; }
};

const CodeTable& direct_table(const Model& m);
const CodeTable& zero_run_table(const Model& m);
const CodeTable& value_table(const Model& m);

// The Laplace scale whose mean |code| is nearest to 2^(t / 4 - 8).
int default_scale_of(int t);

// 256 * log2(v) for v >= 1, exact to 1/256. Integer arithmetic, so the same on every machine.
u32 log2_fixed(u64 v);

template <class Code>
inline u64 zigzag(Code c) {
  i64 v = c;
  return (u64(v) << 1) ^ u64(v >> 63);
}
inline i64 unzigzag(u64 z) { return i64(z >> 1) ^ -i64(z & 1); }

struct Symbol {
  u32 symbol;
  int raw_bits;
};
// The symbol of v <= 256. Its raw bits are the low bits of v - 1.
inline Symbol value_symbol(u32 v) {
  if (v < plain_symbols) return {v, 0};
  u32 u = v - 1;
  int e = floor_log2(u);
  return {u32(plain_symbols + (e - 5) * 4 + ((u >> (e - 2)) & 3)), e - 2};
}
constexpr u32 largest_symbol_value = 256;
// For symbols 33..44: v - 1 without its raw bits.
inline u32 value_symbol_base(u32 symbol, int& raw_bits) {
  int e = 5 + int(symbol - plain_symbols) / 4;
  raw_bits = e - 2;
  return (4u | ((symbol - plain_symbols) & 3)) << raw_bits;
}
constexpr u32 zero_run_base(u32 s, int& raw_bits) {
  raw_bits = 0;
  if (s < 16) return s;
  int e = s < 32 ? 4 + int(s - 16) / 4 : 8 + int(s - 32) / 2;
  raw_bits = s < 32 ? e - 2 : e - 1;
  return (s < 32 ? (4u | ((s - 16) & 3)) : (2u | ((s - 32) & 1))) << raw_bits;
}
// for each symbol: the shortest run and the number of raw bits added to it; the symbol of each short run
struct ZeroRuns {
  u16 base[zero_run_symbols];
  u8 raw_bits[zero_run_symbols], symbol[256];
};
constexpr ZeroRuns make_zero_runs() {
  ZeroRuns runs{};
  for (u32 s = 0; s < zero_run_symbols; s++) {
    int bits = 0;
    const u32 base = zero_run_base(s, bits);
    runs.base[s] = u16(base);
    runs.raw_bits[s] = u8(bits);
    for (u32 g = base; g < 256 && g < base + (1u << bits); g++) runs.symbol[g] = u8(s);
  }
  return runs;
}
inline constexpr ZeroRuns zero_run_of = make_zero_runs();
constexpr u32 largest_zero_run_symbol_value = 65535;
inline Symbol zero_run_symbol(u32 g) {  // g <= 65535
  if (g < 256) return {zero_run_of.symbol[g], zero_run_of.raw_bits[zero_run_of.symbol[g]]};
  const int e = floor_log2(g);
  return {u32(32 + (e - 8) * 2) + ((g >> (e - 1)) & 1), e - 1};
}

}  // namespace stz
