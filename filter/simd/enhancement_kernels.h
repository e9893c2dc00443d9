// The filter of the enhancement (format/enhancement.h). Included by kernels.cpp only.
#pragma once
#include "simd/short_vectors.h"

namespace stz {
namespace {

// Samples in units, modulo 2^16.
template <class T>
void to_units(const T* __restrict x, int n, double inverse, i16* __restrict units) {
  for (int i = 0; i < n; i++) units[i] = i16(bits(double(x[i]) * inverse + magic<double>));
}

template <class T>
void subtract_units(T* __restrict x, const i16* __restrict units, int n, T unit) {
  for (int i = 0; i < n; i++) x[i] = x[i] - T(units[i]) * unit;
}

// Puts the low half of the pair into even lanes and the high half into odd lanes.
STZ_INLINE Shorts alternating(u32 pair) { return (Shorts)(Vector<u32>{} + (host_is_little ? pair : pair << 16 | pair >> 16)); }

template <bool masked>
STZ_INLINE Shorts negative_corrections(const EnhancementRow& row, int x) {
  using Unsigned = Vector<u16>;
  const i16* const centre = row.units + x;
  const Unsigned twice = (Unsigned)load_shorts(centre) * u16(2);
  Unsigned sum{};
  const u32* weight = row.weights;
  for (int d = 0; d < row.directions; d++, weight += 3) {
    const std::ptrdiff_t offset = row.offset[d];
    // The negated second difference.
    Shorts f = (Shorts)(twice - (Unsigned)load_shorts(centre - offset) - (Unsigned)load_shorts(centre + offset));
    if constexpr (masked) f &= load_shorts(row.valid + x - offset) & load_shorts(row.valid + x + offset);
    const Shorts at_8 = clamped(f, 512) << 5, at_2 = clamped(at_8, 4096), at_half = clamped(at_2, 1024);
    sum += (Unsigned)weighted(at_half, alternating(weight[0]));
    sum += (Unsigned)weighted(at_2, alternating(weight[1]));
    sum += (Unsigned)weighted(at_8, alternating(weight[2]));
  }
  return clamped((Shorts)sum, row.limit);
}

void enhancement(const EnhancementRow& row, int n, i16* negative) {
  if (row.valid)
    for (int x = 0; x < n; x += short_lanes) store_shorts(negative + x, negative_corrections<true>(row, x));
  else
    for (int x = 0; x < n; x += short_lanes) store_shorts(negative + x, negative_corrections<false>(row, x));
}

}  // namespace
}  // namespace stz
