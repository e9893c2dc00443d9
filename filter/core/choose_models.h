// Chooses the model of each context of a class from histograms of its codes (encoder only).
#pragma once
#include "block_codec.h"

namespace stz {

// Histogram of magnitudes: exact below 64, then four bins per octave.
constexpr int magnitude_bins = 64 + 4 * 58;
inline int magnitude_bin(u64 a) {
  if (a < 64) return int(a);
  int e = floor_log2(a);
  return 64 + (e - 6) * 4 + int(a >> (e - 2) & 3);
}
using ClassHistogram = u32[contexts][magnitude_bins];

template <class Code>
void add_to_histogram(const ClassCodes<Code>& codes, const u8* context, size_t n, ClassHistogram& histogram);

// Sets p.model for p.mean; returns the estimated size of the codes in bits.
double choose_models(const ClassHistogram& histogram, const ModelState& state, int max_shift, ClassParameters& p);

}  // namespace stz
