// Decides whether the masks of a block are regions or scattered samples: it compares neighbours in some of the rows (encoder only).
#pragma once
#include "masks/scattered_mask.h"

namespace stz {

// `specials`: of all classes of the block, with class 0 and the halos.
MaskForm choose_mask_form(const BlockGeometry& g, const u8* specials);

}  // namespace stz
