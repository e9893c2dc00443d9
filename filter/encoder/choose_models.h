// Chooses the model of each context of a class from histograms of its codes (encoder only).
#pragma once
#include "format/block_codec.h"

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

// Counts codes.
class CodeHistogram {
 public:
  // n codes of a class, the one with number `first` and those after it in raster order; context[0] is that of the first. `masked`: some
  // may have no context.
  template <class Code>
  void add(const ClassCodes<Code>& codes, size_t first, const u8* context, size_t n, bool masked);
  const ClassHistogram& result();

 private:
  void add_magnitude(u8 context, u64 magnitude) {
    all_ |= magnitude;
    histogram_.count[context][magnitude_bin(magnitude)]++;
  }
  ClassHistogram histogram_;
  u64 all_ = 0;  // magnitudes
  bool any_ = false, any_bytes_ = false;
  u32 bytes_[2][contexts][256];  // codes that are bytes, in turn: a run of the same would wait for its counter
};
// The sum of magnitudes, as far as the bins tell them, and their number, stored samples left out.
template <class Code>
void add_up(const ClassHistogram& histogram, u64& sum, u64& count);

// Sets p.model for p.mean. The histogram may be of a part of the class: `scale` times its codes are those of the class. Returns the
// estimated size of the histogram's codes in bits.
double choose_models(const ClassHistogram& histogram, double scale, const ModelState& state, int max_shift, ClassParameters& p);

}  // namespace stz
