// Decodes the base section: the coarsest levels, as a whole.
#pragma once
#include "masks/mask_coder.h"
#include "predict/level_quantizers.h"
#include "predict/parameter_coding.h"

namespace stz {

// A decoded level, all items.
template <class S>
struct DecodedLevel {
  Buffer<S> samples;
  Buffer<u8> activities;
  std::vector<u8> specials;  // empty: nothing is masked
};

// Sets the initial parameters in `state`. `literals`: gets the bits of samples of kind special_literal.
template <class S>
DecodedLevel<S> decode_base_section(const Header& header, const Hierarchy& hierarchy, const std::vector<Quantizer<S>>& quantizers,
                                    const u8* section, size_t size, ParameterState& state, std::vector<LiteralElement>& literals);

}  // namespace stz
