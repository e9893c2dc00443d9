// How long the sections of an array will be, without coding more of it than samples.
#pragma once
#include "encoder/encode_level.h"
#include "encoder/encoded.h"

namespace stz {

// As encode_sections, but only coarse levels are coded as a whole; of the finer ones some boxes are, predicted from what a decoder will
// have around them. Fills h.section with the expected sizes.
template <class S>
Encoded estimate_sections(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, int threads,
                          bool edge = false);

// The sections, or their expected size if the header asks for an estimate.
template <class S>
Encoded make_sections(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, int threads,
                      bool edge = false) {
  if (h.estimate) return estimate_sections<S>(h, samples, specials, literals, threads, edge);
  Encoded written;
  written.bytes = encode_sections<S>(h, samples, specials, literals, threads, edge);
  return written;
}

}  // namespace stz
