// The quantizers of all levels of a stream, shared by encoder and decoder.
#pragma once
#include "coding/quantize.h"
#include "format/frame.h"

namespace stz {

template <class S>
std::vector<Quantizer<S>> level_quantizers(const Header& header, size_t levels) {
  const std::vector<double> bounds = level_bounds(header, levels);
  std::vector<Quantizer<S>> quantizers(levels);
  for (size_t l = 0; l < levels; l++) {
    Quantizer<S>& q = quantizers[l];
    if (header.quantizer == QuantizerKind::uniform) q.set_uniform(sample_bound(header), bounds[l]);
    q.kind = header.quantizer;
    q.rounds = is_short_float(header.layout.dtype) && header.transform == Transform::none;
    q.format = float_format(header.layout.dtype);
    q.step = header.step;
    q.relative = header.bound;
    q.zero_bits = header.zero_bits;
  }
  return quantizers;
}

}  // namespace stz
