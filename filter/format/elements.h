// Converts the codec's samples to the bits of elements.
#pragma once
#include <limits>

#include "base/sample_types.h"
#include "format/convert.h"

namespace stz {

// The bits of a component (host-endian, component_size bytes) from its sample and special value.
template <class S>
class ElementBits {
 public:
  explicit ElementBits(const Header& h)
      : h_(h), width_(component_size(h.layout.dtype)), same_(samples_are_elements<S>(h)), limits_(limits_of<S>(h)) {}
  bool are_samples() const { return same_; }  // samples that are not masked, within the limits
  const Limits<S>& limits() const { return limits_; }
  // Returns zero for special_literal: the caller has its bits.
  u64 operator()(S sample, u8 kind) const {
    const u64 infinity = float_format(h_.layout.dtype).first_special();
    switch (kind) {
      case special_none:
        return same_ ? bit_cast_to<std::make_unsigned_t<CodeOf<S>>>(limits_(sample)) : bits_of<S>(h_, sample);
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
  const Limits<S> limits_;
};

// The bits of each special value.
struct SpecialBits {
  u64 of[special_values];
};
template <class S>
SpecialBits special_bits(const ElementBits<S>& bits) {
  SpecialBits all{};
  for (u8 kind = 1; kind < special_values; kind++) all.of[kind] = bits(S(0), kind);
  return all;
}

// Overwrites masked elements with the bits of their special value; literal elements become zero.
template <class Bits>
void put_special_bits(const u8* kinds, u64 n, const SpecialBits& special, u8* out) {
  u8 kind = special_none, others = 0;
  for (u64 k = 0; k < n; k++) kind |= kinds[k];
  for (u64 k = 0; k < n; k++) others |= u8(kinds[k] != special_none && kinds[k] != kind);
  if (others) {
    for (u64 k = 0; k < n; k++)
      if (kinds[k] != special_none) {
        const Bits element = Bits(special.of[kinds[k]]);
        memcpy(out + k * sizeof(Bits), &element, sizeof element);
      }
    return;
  }
  const Bits same = kind < special_values ? Bits(special.of[kind]) : Bits(0);
  for (u64 k = 0; k < n; k++) {
    Bits element;
    memcpy(&element, out + k * sizeof(Bits), sizeof element);
    const Bits valid = Bits(Bits(kinds[k] != special_none) - 1);  // all ones or zero, to avoid a branch
    element = Bits((element & valid) | (same & Bits(~valid)));
    memcpy(out + k * sizeof(Bits), &element, sizeof element);
  }
}

}  // namespace stz
