// Decodes the root section: the coarsest levels, whole.
#pragma once
#include "format/level_quantizers.h"
#include "format/mask_coder.h"

namespace stz {

// A level, all items.
template <class S>
struct DecodedLevel {
  Buffer<S> samples;
  Buffer<u8> magnitudes;
  std::vector<u8> kinds;  // empty: nothing is masked
};

// Sets what `state` starts with; `others` gets the bits of samples of kind mask_other.
template <class S>
DecodedLevel<S> decode_root(const Header& header, const Hierarchy& hierarchy, const std::vector<Quantizer<S>>& quantizers,
                            const u8* section, size_t size, ParameterState& state, std::vector<OtherSample>& others);

}  // namespace stz
