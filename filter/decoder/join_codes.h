// Joins the codes (quantization indices) of a class in the section of a level with the bits that refinements add (format/layers.h).
#pragma once
#include "predict/block_codec.h"

namespace stz {

// Converts codes from bytes to numbers.
template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n);

template <class Code>
class CodeJoiner {
 public:
  // Starts with the n codes of a class. They must not move until they are complete.
  void start(ClassCodes<Code>& codes, size_t n);
  // The number of nonzero codes.
  size_t nonzero() const { return nonzero_; }
  // Keeps the contexts of zero codes; the others become no_context.
  void keep_contexts_of_zeros(u8* context) const;
  // A buffer for a bit field (at most 8 bits) of each nonzero code, in raster order.
  u8* fields();
  // Appends these fields to the nonzero codes. Fails if a code becomes too large.
  void append(int width);
  // Replaces zero codes by what a refinement adds; `added` must be zero elsewhere. If the codes are bytes, `added` must be bytes. Destroys
  // `added`.
  void replace_zeros(ClassCodes<Code>& added);
  // Completes codes whose `missing` lowest bits are unknown: they become the middle of their possible values.
  void complete(int missing);

 private:
  void append_to_bytes(const u8* low, int width);

  ClassCodes<Code>* codes_ = nullptr;
  size_t n_ = 0, nonzero_ = 0;
  // nonzero where a code was nonzero at the start; codes that are bytes serve as their own mask, because nonzero ones stay nonzero
  const u8* mask_ = nullptr;
  Buffer<u8> mask_of_numbers_, fields_, low_, old_;
  Buffer<u32> places_;
};

}  // namespace stz
