// The codes (quantization indices) of a class in layers (format/layers.h): what the section of a level has, and what refinements add.
#pragma once
#include "format/block_codec.h"

namespace stz {

// Takes the lowest `bits` bits from the codes of a class of n; `whole` gets them as they were.
template <class Code>
void leave_out_bits(ClassCodes<Code>& codes, size_t n, int bits, ClassCodes<Code>& whole);

// What one refinement has of a class.
template <class Code>
struct RefinedCodes {
  // Of samples whose code was 0 so far: what it becomes; 0 of the others. Never wide, no outliers.
  ClassCodes<Code> codes;
  Buffer<u8> context;  // of these samples; no_context for the others
  // Of the others that have a code, in raster order: the added bits. Those of outliers mean nothing.
  Buffer<std::make_unsigned_t<Code>> bits;
  size_t count = 0;
  int width = 0;
};

// Codes without their `before` lowest bits become codes without `after`. `context`: of the class, row_slack elements more.
template <class Code>
void refine_codes(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined);

}  // namespace stz
