// Chooses the model of each context of a parity class, from histograms of the class's codes (quantization indices). Encoder only.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// Histogram of the sizes of codes, |code|: exact below 64, then four bins per octave.
constexpr int size_bins = 64 + 4 * 58;
inline int size_bin(u64 a) {
  if (a < 64) return int(a);
  int e = floor_log2(a);
  return 64 + (e - 6) * 4 + int(a >> (e - 2) & 3);
}
struct ClassHistogram {
  u32 count[contexts][size_bins] = {};
  int bins = 0;  // bins from here on are empty
};

template <class Code>
constexpr u64 outlier_code_size = u64(1) << (8 * sizeof(Code) - 1);  // outliers are counted with this size

// Counts codes, class after class.
class CodeHistogram {
 public:
  void clear();
  // Adds n codes of a class: those with the raster indices `first`, `first` + 1, ... context[0] belongs to the first one. `masked`: some of
  // the codes may be masked, and have no context.
  template <class Code>
  void add(const ClassCodes<Code>& codes, size_t first, const u8* context, size_t n, bool masked);
  const ClassHistogram& result();

 private:
  void add_code_size(u8 context, u64 code_size) {
    all_ |= code_size;
    histogram_.count[context][size_bin(code_size)]++;
  }
  ClassHistogram histogram_;
  u64 all_ = 0;  // all sizes of codes, or-ed
  bool any_ = false;
  int largest_ = -1;  // largest byte that was counted; -1: none
  // Counts of codes that are bytes. Two sets take turns: equal codes in a row would wait for the same counter.
  u32 bytes_[2][contexts][256] = {};
};
// Adds the sizes of the codes (exact to the width of a bin) to `sum` and their number to `count`, both without outliers.
template <class Code>
void add_up(const ClassHistogram& histogram, u64& sum, u64& count);

struct ModelChoice {
  int max_shift;
  int even_bits = 0;  // bits of a code in the model `even`; 0: that model may not be used
};

// Chooses p.model and returns the estimated size of the histogram's codes in bits. `predicted`: the models that need not be named in the
// stream. The class has `scale` times as many codes as the histogram.
double choose_models(const ClassHistogram& histogram, double scale, const Model* predicted, const ModelChoice& choice, ClassParameters& p);

}  // namespace stz
