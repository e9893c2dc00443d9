// Reads the special values of a block.
#pragma once
#include <algorithm>

#include "masks/mask_coder.h"

namespace stz {

// The number of bits of a literal element.
inline int mask_bits(const Header& header) { return int(8 * component_size(header.layout.dtype)); }

// The set of kinds that masked samples can have: those whose bits are in the header or follow from the element type.
inline u32 possible_kinds(const Header& header) {
  u32 specials = u32(1) << special_literal;
  if (header.has_fill) specials |= u32(1) << special_fill;
  if (is_floating(header.layout.dtype)) specials |= 1u << special_nan;
  if (is_floating(header.layout.dtype) && float_format(header.layout.dtype).has_infinity)
    specials |= 1u << special_plus_infinity | 1u << special_minus_infinity;
  if (header.transform == Transform::logarithmic) specials |= u32(1) << special_zero;
  return specials;
}

inline MaskReader mask_reader(const Header& header, BinaryDecoder& in, std::vector<LiteralElement>& literals) {
  return {in, literals, mask_bits(header), possible_kinds(header)};
}

// Prepares the special values of a block: class 0 from the coarser level, none in other classes.
template <class S>
void load_block_specials(BlockWork<S>& work, const GridPart<const u8>& coarse) {
  work.specials.resize(size_t(work.geometry.total(work.geometry.bytes)));
  std::fill(work.specials.begin(), work.specials.end(), u8(0));
  load_coarse_bytes(work.geometry, coarse, work.specials.data());
}

}  // namespace stz
