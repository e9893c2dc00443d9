// Decodes the sections of one array of samples, coarse to fine.
#pragma once
#include "format/elements.h"
#include "masks/mask_coder.h"

namespace stz {

// Fails unless palette, base section, the sections of levels and those of the first `taken` refinements, of a stream that is there as a
// whole, have their checks. Nothing is made of them, and no memory taken.
void verify_sections(const Header& h, const u8* stream, size_t size, size_t taken);

// `sections`: the base section and what follows. Fills `samples` (all items of the batch, C order) and, if the stream has masks, `specials`
// and `literals`. `of_masked`: bits that samples, which are elements, get where they are masked (literals: zero); `specials` then may stay
// empty. `taken`: how many refinements of codes are read (format/layers.h), at most those that there are. At most `threads` (>= 1) threads
// work on it.
template <class S>
void decode_sections(const Header& h, const u8* sections, size_t size, S* samples, std::vector<u8>& specials,
                     std::vector<LiteralElement>& literals, int threads, size_t taken, const SpecialBits* of_masked = nullptr);

}  // namespace stz
