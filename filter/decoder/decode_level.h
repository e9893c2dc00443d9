// Decodes the sections of a stream of samples, coarse to fine.
#pragma once
#include "format/elements.h"
#include "masks/mask_coder.h"

namespace stz {

// Verifies the checks of palette, base section, levels and the first `taken` refinements of a complete stream. Nothing is decoded and no
// memory is allocated.
void verify_sections(const Header& h, const u8* stream, size_t size, size_t taken);

// Decodes `sections`: the base section and everything behind it. Fills `samples` (all items of the batch, C order) and, if the stream has
// masks, `specials` and `literals`.
// `of_masked`: if samples are elements, the bits that masked samples get (zero for literals); `specials` may then stay empty. `taken`: the
// number of refinements to use (format/layers.h), at most those of the stream. `limits`: samples of level 0 beyond them are brought to
// them; may be null. Uses at most `threads` (>= 1) threads.
template <class S>
void decode_sections(const Header& h, const u8* sections, size_t size, S* samples, std::vector<u8>& specials,
                     std::vector<LiteralElement>& literals, int threads, size_t taken, const SpecialBits* of_masked = nullptr,
                     const Limits<S>* limits = nullptr);

}  // namespace stz
