// Decodes the sections of one array of samples, coarse to fine.
#pragma once
#include "format/elements.h"
#include "format/mask_coder.h"

namespace stz {

// `sections`: the base section and what follows. Fills `samples` (all items of the batch, C order) and, if the stream has masks, `specials`
// and `literals`. `of_masked`: bits that samples, which are elements, get where they are masked (literals: zero); `specials` then may stay
// empty. `taken`: how many refinements of codes are read (format/layers.h), at most those that there are. At most `threads` (>= 1) threads
// work on it.
template <class S>
void decode_sections(const Header& h, const u8* sections, size_t size, S* samples, std::vector<u8>& specials,
                     std::vector<LiteralElement>& literals, int threads, size_t taken, const SpecialBits* of_masked = nullptr);

}  // namespace stz
