// Joins the codes (quantization indices) of a class that the section of a level has with what refinements add (format/layers.h).
#pragma once
#include "predict/block_codec.h"

namespace stz {

// Numbers in place of bytes.
template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n);

template <class Code>
class CodeJoiner {
 public:
  // Begins with the codes of a class of n as they are. They must not move until they are complete.
  void start(ClassCodes<Code>& codes, size_t n);
  // How many of them are not zero.
  size_t nonzero() const { return nonzero_; }
  // Leaves the contexts of those that are zero; no_context for the others.
  void keep_contexts_of_zeros(u8* context) const;
  // Room for a bit field, at most 8 bits wide, of each code that is not zero, in raster order.
  u8* fields();
  // Appends these fields to the codes that are not zero. Fails if a code becomes too large.
  void append(int width);
  // Puts in place of codes that are zero what a refinement adds; the others have zeros there. Bytes get bytes. `added` is used up.
  void replace_zeros(ClassCodes<Code>& added);
  // Codes whose `missing` lowest bits are unknown become the middle of what they may be.
  void complete(int missing);

 private:
  void append_to_bytes(const u8* low, int width);

  ClassCodes<Code>* codes_ = nullptr;
  size_t n_ = 0, nonzero_ = 0;
  const u8* mask_ = nullptr;  // not zero where a code was not at first: codes that are bytes themselves, since these stay what they are
  Buffer<u8> mask_of_numbers_, fields_, low_, old_;
  Buffer<u32> places_;
};

}  // namespace stz
