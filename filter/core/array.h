// An array in memory as the encoder sees it: components, masks, samples.
#pragma once
#include <algorithm>

#include "convert.h"
#include "mask_coder.h"
#include "valid_extent.h"

namespace stz {

// Elements and their components; the codec's order is all of component 0, then all of component 1.
struct Array {
  const stz_layout& layout;
  const u8* data;
  size_t width = component_size(layout.dtype);
  int parts = components(layout.dtype);
  bool swap = swapped(layout);
  u64 elements = element_count(layout);
  u64 bits(u64 element, int part) const { return load_bits(data + (element * u64(parts) + u64(part)) * width, width, swap); }
};

// Sets h.valid, h.padding and h.partial: the extent without trailing planes in which every component has the bits of the very last one.
void find_valid_extent(const Array& a, Header& h);

// Mask kinds of all samples in the codec's order.
struct Masks {
  std::vector<u8> kinds;  // empty: nothing is masked
  std::vector<OtherSample> others;
  const u8* kinds_or_null() const { return kinds.empty() ? nullptr : kinds.data(); }
};
// Fill values and, in floating-point types, what is not finite. Sets h.masked and h.nan_bits.
Masks find_masks(const Array& a, Header& h);

// The samples of all valid elements, transformed as the header says.
template <class S>
std::vector<S> load_samples(const Array& a, const Header& h, const Masks& m) {
  const u64 valid = valid_elements(h);
  std::vector<S> samples(valid * u64(a.parts));
  S last = 0;
  for (int part = 0; part < a.parts; part++)
    for_valid(h, [&](u64 number, u64 element) {
      u64 at = u64(part) * valid + number;
      if (m.kinds.empty() || !m.kinds[at]) last = sample_of<S>(h, a.bits(element, part));
      samples[at] = last;  // masked samples are never looked at; a value near the others keeps kernels from slow numbers
    });
  return samples;
}

// The array itself, if it can be read as samples: native numbers, all finite, none of them the fill value, nothing cut off. Else null.
template <class S>
const S* plain_samples(const Array& a, const Header& h) {
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  if (a.width != sizeof(S) || a.parts != 1 || a.swap || h.partial || reinterpret_cast<uintptr_t>(a.data) % sizeof(S)) return nullptr;
  constexpr Bits exponent = sizeof(S) == 4 ? Bits(0x7f800000) : Bits(u64(0x7ff) << 52);
  const Bits* bits = reinterpret_cast<const Bits*>(a.data);
  const Bits fill = h.has_fill ? Bits(h.fill) : exponent;
  constexpr u64 piece = 4096;
  for (u64 from = 0; from < a.elements; from += piece) {
    Bits special = 0;
    for (u64 i = from; i < std::min(from + piece, a.elements); i++)
      special |= Bits((bits[i] & exponent) == exponent) | Bits(bits[i] == fill);
    if (special) return nullptr;
  }
  return reinterpret_cast<const S*>(a.data);
}

template <class S>
double largest_magnitude(const S* samples, u64 n, const Masks& m) {
  if (!m.kinds.empty()) {
    double largest = 0;
    for (u64 i = 0; i < n; i++)
      if (!m.kinds[i]) largest = std::max(largest, __builtin_fabs(double(samples[i])));
    return largest;
  }
  // finite numbers are ordered as their bits without the sign
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  Bits largest = 0;
  for (u64 i = 0; i < n; i++) {
    Bits b;
    memcpy(&b, samples + i, sizeof b);
    b &= Bits(~Bits(0)) >> 1;
    largest = b > largest ? b : largest;
  }
  return double(bit_cast_to<S>(largest));
}

}  // namespace stz
