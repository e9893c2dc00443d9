// Mask kinds of a block, reading side.
#pragma once
#include <algorithm>

#include "format/mask_coder.h"

namespace stz {

// Bits of a sample of kind `mask_other`.
inline int mask_bits(const Header& header) { return int(8 * component_size(header.layout.dtype)); }

// Kinds of a block: class 0 from the coarser level, the others none yet.
template <class S>
void load_block_kinds(BlockWork<S>& work, const GridPart<const u8>& coarse) {
  work.kinds.resize(size_t(work.geometry.total(work.geometry.bytes)));
  std::fill(work.kinds.begin(), work.kinds.end(), u8(0));
  load_coarse_magnitudes(work.geometry, coarse, work.kinds.data());
}

}  // namespace stz
