// From the codec's samples to the bits of elements.
#pragma once
#include <limits>

#include "base/sample_types.h"
#include "format/convert.h"

namespace stz {

// Bits of a component (host-endian, of component_size bytes) from its sample and its special value.
template <class S>
class ElementBits {
 public:
  explicit ElementBits(const Header& h) : h_(h), width_(component_size(h.layout.dtype)), same_(samples_are_elements<S>(h)) {}
  bool are_samples() const { return same_; }  // of what is not masked
  // special_literal: zero; its bits are told apart.
  u64 operator()(S sample, u8 kind) const {
    const u64 infinity = width_ == 2 ? 0x7c00 : width_ == 4 ? 0x7f800000 : u64(0x7ff) << 52;
    switch (kind) {
      case special_none:
        return same_ ? bit_cast_to<std::make_unsigned_t<CodeOf<S>>>(sample) : bits_of<S>(h_, sample);
      case special_fill:
        return h_.fill;
      case special_nan:
        return h_.nan_bits;
      case special_plus_infinity:
        return infinity;
      case special_minus_infinity:
        return infinity | u64(1) << (8 * width_ - 1);
      default:
        return 0;
    }
  }

 private:
  const Header& h_;
  const size_t width_;
  const bool same_;
};

}  // namespace stz
