// The codes (quantization indices) of a class in layers (format/layers.h): the part in the section of a level, and the parts that
// refinements add.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// The codes of a class of n without their lowest `bits` bits.
template <class Code>
void cut_codes(const ClassCodes<Code>& whole, size_t n, int bits, ClassCodes<Code>& cut);
// The activities of a class with a refinement after which `unknown_bits` are unknown. work.whole_codes has all bits.
template <class S>
void refine_activities(BlockWork<S>& work, size_t refinement, int cls, int unknown_bits, int mean) {
  cut_codes(work.whole_codes[cls], size_t(work.geometry.samples(cls)), unknown_bits, work.refined_codes);
  std::swap(work.codes[cls], work.refined_codes);
  refine_activities(work, refinement, cls, mean);
  std::swap(work.codes[cls], work.refined_codes);
}

// The part of a class in one refinement.
template <class Code>
struct RefinedCodes {
  // Of samples whose code was 0 so far: what it becomes; 0 of the others. Never wide, no outliers.
  ClassCodes<Code> codes;
  Buffer<u8> context;  // of these samples; no_context for the others
  // Of the others that have a code, in raster order: the added bits, so many of each. Those of outliers mean nothing.
  Buffer<u8> bits;             // at most largest_byte_bits
  std::vector<u64> long_bits;  // more
  size_t count = 0;
  int width = 0;
  Buffer<u8> low, known;  // while they are found
};

// Codes without their `before` lowest bits become codes without `after`. `context`: of the class, row_slack elements more.
template <class Code>
void refine_codes(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined);

}  // namespace stz
