// Splits the codes (quantization indices) of a class into precision layers (format/layers.h): the part in the level's section, and the
// parts that refinements add.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// Removes the lowest `bits` bits of the n codes of a class.
template <class Code>
void cut_codes(const ClassCodes<Code>& whole, size_t n, int bits, ClassCodes<Code>& cut);
// Computes the activities of a class as the decoder has them after a refinement, when `unknown_bits` low bits are still unknown.
// work.whole_codes has all bits.
template <class S>
void refine_activities(BlockWork<S>& work, size_t refinement, int cls, int unknown_bits, int mean) {
  cut_codes(work.whole_codes[cls], size_t(work.geometry.samples(cls)), unknown_bits, work.refined_codes);
  std::swap(work.codes[cls], work.refined_codes);
  refine_activities(work, refinement, cls, mean);
  std::swap(work.codes[cls], work.refined_codes);
}

// What one refinement adds to a class.
template <class Code>
struct RefinedCodes {
  // New codes of the samples whose code was 0 before; 0 for all others. Never wide, no outliers.
  ClassCodes<Code> codes;
  Buffer<u8> context;  // of samples whose code was 0 before; no_context for the others
  // The added bits of the other samples that have a code, in raster order. Bits of outliers have no meaning.
  Buffer<u8> bits;             // if `width` is at most largest_byte_bits
  std::vector<u64> long_bits;  // if it is more
  size_t count = 0;
  int width = 0;
  Buffer<u8> low, known;  // scratch memory
};

// Finds what a refinement adds that lowers the number of unknown low bits from `before` to `after`. `context`: of all codes of the class,
// with row_slack more elements.
template <class Code>
void refine_codes(const ClassCodes<Code>& whole, const u8* context, size_t n, int before, int after, RefinedCodes<Code>& refined);

}  // namespace stz
