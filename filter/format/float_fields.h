// Floating-point numbers without loss whose neighbours say nothing about them: what is common is the exponent. Byte by byte:
// docs/format.md, "Floating-point fields".
//
// The components of the array, in its order, are cut into blocks. A number has two fields: its *top*, which is the exponent and the first
// mantissa bits, and its *rest*, the sign above the other mantissa bits. Tops become symbols of interleaved rANS with a table for each
// block; rests are stored as they are, in planes. A symbol stands for a top and for a kind of rest.
#pragma once
#include <vector>

#include "base/bytes.h"
#include "base/element_type.h"
#include "simd/kernels.h"

namespace stz {

constexpr int most_field_symbols = 64;  // the escape among them
constexpr int most_field_lanes = 64;
constexpr int least_log2_block = 6, most_log2_block = 20;

// Of a whole stream; all zero if it has no fields.
struct FloatFields {
  int log2_block = 0;  // components of a block
  int mantissa = 0;    // mantissa bits in a top
  u64 directory = 0;   // bytes of the sizes of the blocks, with their check
  u64 blocks = 0;      // bytes of the blocks
  bool any() const { return log2_block != 0; }
};

enum class RestKind : u8 {
  full,      // without `zeros` low bits
  short_,    // without `short_zeros` low bits
  constant,  // all numbers of the symbol are equal
};

struct FieldSymbol {
  u32 top = 0;
  RestKind kind = RestKind::full;
  u64 rest = 0;  // of a constant
  u32 frequency = 0;
};

// How the numbers of one block are stored.
struct FieldBlock {
  std::vector<FieldSymbol> symbols;  // by rising top, then kind; at least one unless all are escapes
  u32 escape_frequency = 0;          // 0: every number has a symbol
  u64 escapes = 0;                   // numbers without a symbol; their rests are full
  int zeros = 0, short_zeros = 0;    // short_zeros is 0 where no symbol is short
  u64 shorts = 0, constants = 0;     // numbers of these kinds
  int log2_lanes = 0;
  u64 words = 0;  // of rANS, without the states
  // Whether the symbols take bytes.
  bool coded() const { return symbols.size() + (escapes != 0) > 1; }
};

// Facts that follow from the type of the elements and from `mantissa`.
struct FieldWidths {
  FieldWidths(i32 dtype, int mantissa)
      : number(8 * int(component_size(dtype))), low(mantissa_bits(dtype) - mantissa), top(number - 1 - low) {}
  int number, low, top;  // bits of a number, mantissa bits of a rest, bits of a top
};

// Where the parts of a block stand, behind its parameters.
struct FieldBlockLayout {
  FieldBlockLayout(const FieldBlock& b, const FieldWidths& w, u64 n);
  u64 full;                                            // numbers with a full rest
  u64 states, words, full_planes, short_planes, tops;  // bytes
  u64 size() const { return states + words + full_planes + short_planes + tops; }
};

// The parameters of a block of n numbers. read_field_block() fails unless they are possible.
Bytes write_field_block(const FieldBlock& b, const FieldWidths& w);
FieldBlock read_field_block(ByteReader& in, const FieldWidths& w, u64 n);

// The payload of the header's record.
Bytes write_float_fields(const FloatFields& f);
void read_float_fields(ByteReader& payload, i32 dtype, FloatFields& f);

// The sizes of all blocks and their check.
Bytes write_field_directory(const std::vector<u64>& sizes);
// Where each block begins, and the last one ends: `begin` is where the first one begins, `all` the bytes of all blocks.
std::vector<u64> read_field_directory(const u8* directory, u64 size, u64 blocks, u64 begin, u64 all);

}  // namespace stz
