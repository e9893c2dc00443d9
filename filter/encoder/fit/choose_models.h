// Chooses the model of each context of a parity class from histograms of its codes (quantization indices; encoder only).
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
  int bins = 0;  // those after the first `bins` are empty
};

template <class Code>
constexpr u64 outlier_code_size = u64(1) << (8 * sizeof(Code) - 1);  // the size that an outlier counts as

// Counts codes, class after class.
class CodeHistogram {
 public:
  void clear();
  // n codes of a class, the one with number `first` and those after it in raster order; context[0] is that of the first. `masked`: some
  // may have no context.
  template <class Code>
  void add(const ClassCodes<Code>& codes, size_t first, const u8* context, size_t n, bool masked);
  const ClassHistogram& result();

 private:
  void add_code_size(u8 context, u64 code_size) {
    all_ |= code_size;
    histogram_.count[context][size_bin(code_size)]++;
  }
  ClassHistogram histogram_;
  u64 all_ = 0;  // sizes of codes, or-ed
  bool any_ = false;
  int largest_ = -1;                  // byte that was counted
  u32 bytes_[2][contexts][256] = {};  // codes that are bytes, in turn: a run of the same would wait for its counter
};
// The sum of the sizes of codes, as precise as the bins are, and the number of codes, both without outliers.
template <class Code>
void add_up(const ClassHistogram& histogram, u64& sum, u64& count);

struct ModelChoice {
  int max_shift;
  int even_bits = 0;  // of the model `even`; 0: there is none
};

// Sets p.model; `predicted`: what each context has unless it is named. The histogram may be of a
// part of the class: `scale` times its codes are those of the class. Returns the estimated size of the histogram's codes in bits.
double choose_models(const ClassHistogram& histogram, double scale, const Model* predicted, const ModelChoice& choice, ClassParameters& p);

}  // namespace stz
