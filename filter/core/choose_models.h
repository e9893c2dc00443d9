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
struct ClassHistogram {
  u32 count[contexts][magnitude_bins] = {};
  int bins = 0;  // those after the first `bins` are empty
};

template <class Code>
constexpr u64 verbatim_magnitude = u64(1) << (8 * sizeof(Code) - 1);  // what a stored sample counts as

// Adds n codes of a class, the one with number `first` and those after it in raster order; context[0] is that of the first.
template <class Code>
void add_to_histogram(const ClassCodes<Code>& codes, size_t first, const u8* context, size_t n, ClassHistogram& histogram);
// The sum of magnitudes, as far as the bins tell them, and their number, stored samples left out.
template <class Code>
void add_up(const ClassHistogram& histogram, u64& sum, u64& count);

// Sets p.model for p.mean. The histogram may be of a part of the class: `scale` times its codes are those of the class. Returns the
// estimated size of the histogram's codes in bits.
double choose_models(const ClassHistogram& histogram, double scale, const ModelState& state, int max_shift, ClassParameters& p);

}  // namespace stz
