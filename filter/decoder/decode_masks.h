// Mask kinds of a block, reading side.
#pragma once
#include <algorithm>

#include "format/mask_coder.h"

namespace stz {

// Bits of a sample of kind `mask_other`.
inline int mask_bits(const Header& header) { return int(8 * component_size(header.layout.dtype)); }

// The kinds that masked samples can have, as a set: what the header has the bits of, or the type of the elements.
inline u32 possible_kinds(const Header& header) {
  u32 kinds = u32(1) << mask_other;
  if (header.has_fill) kinds |= u32(1) << mask_fill;
  if (is_floating(header.layout.dtype)) kinds |= 1u << mask_nan | 1u << mask_plus_infinity | 1u << mask_minus_infinity;
  if (header.transform == Transform::logarithmic) kinds |= u32(1) << mask_zero;
  return kinds;
}

inline MaskReader mask_reader(const Header& header, BinaryDecoder& in, std::vector<OtherSample>& others) {
  return {in, others, mask_bits(header), possible_kinds(header)};
}

// Kinds of a block: class 0 from the coarser level, the others none yet.
template <class S>
void load_block_kinds(BlockWork<S>& work, const GridPart<const u8>& coarse) {
  work.kinds.resize(size_t(work.geometry.total(work.geometry.bytes)));
  std::fill(work.kinds.begin(), work.kinds.end(), u8(0));
  load_coarse_magnitudes(work.geometry, coarse, work.kinds.data());
}

}  // namespace stz
