// Joins the codes (quantization indices) of a class that the section of a level has with what refinements add (format/layers.h).
#pragma once
#include "format/block_codec.h"

namespace stz {

// How many codes of a class of n are not zero.
template <class Code>
size_t nonzero_codes(const ClassCodes<Code>& codes, size_t n);
// The contexts of those that are zero; no_context for the others.
template <class Code>
void contexts_of_zeros(const ClassCodes<Code>& codes, const u8* context, size_t n, Buffer<u8>& of_zeros);
// Numbers in place of bytes.
template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n);
// Codes that are zero become those of `added`; the others get `width` lowest bits, from `bits` in raster order. Codes and what is added may be
// bytes or numbers, but codes that are bytes get bytes, and at most largest_byte_bits. Fails if codes become too large.
template <class Code>
void add_bits(ClassCodes<Code>& codes, size_t n, int width, const ClassCodes<Code>& added, const std::make_unsigned_t<Code>* bits);
// Codes whose `missing` lowest bits are unknown become the middle of what they may be. Fails as add_bits() does.
template <class Code>
void complete_codes(ClassCodes<Code>& codes, size_t n, int missing);

}  // namespace stz
