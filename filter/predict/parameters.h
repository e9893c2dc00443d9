// What a level's stream says of each parity class before its codes: how it is predicted and how its codes (quantization indices) are
// modelled.
//
// Prediction: mean of the 1-D cubics + sum over groups of weight * (group mean - mean of the cubics). Weights are multiples of
// 2^-precision. Models: each context starts from a default that follows from the class's mean |code|; a level's parameters name only
// the contexts that differ from it, and what was named stays the default of later classes (coarse levels first).
#pragma once
#include "coding/code_stream.h"
#include "predict/block.h"

namespace stz {

enum Predictor : u8 { predict_linear = 0, predict_median = 1, predict_median_faces = 2, predictor_count = 3 };
constexpr int max_precision = 24;
constexpr i64 largest_weight = i64(1) << 28;  // in units of 2^-precision; the encoder's are at most 2^26

// Residual feedback: what is added to a prediction, the residuals of samples of the same class and block before it, times weights. See
// feedback.h.
struct FeedbackParameters {
  static constexpr int unit_bits = 6;  // weights are multiples of 2^-6
  static constexpr int least_bits = 3, most_bits = 11;
  static constexpr int largest = 127;  // in magnitude, in these units
  bool any = false;
  bool all_codes = false;  // codes of all sizes count, not only those up to largest_byte_code; then they are numbers, not bytes
  u8 bits = 7;             // residuals are in units of 2^-bits steps, unless all codes count
  // Of the sample before it along axis 2, 1 and 0, for samples of even and of odd index along axis 3; 0 along axes that are not active.
  i16 before[2][axes - 1] = {};
  i16 beside = 0;  // of both neighbours along axis 3, for samples of odd index
  bool operator==(const FeedbackParameters&) const = default;
};

struct ClassParameters {
  u8 predictor = predict_linear;
  u8 stencil = stencil_standard;
  u8 precision = 0;  // 0: no weights, the mean of the 1-D cubics
  u8 groups = 0;     // of the stencil
  i32 weight[max_groups] = {};
  FeedbackParameters feedback;
  // Of the codes that the level's section has, from which it leaves out so many of the lowest bits (layers.h).
  int unknown_bits = 0;
  int mean = 0;  // of |code| over the class: 0 for no codes but zero, else 2^((mean - 81) / 4)
  Model model[contexts];
};

// Weights of the sums of groups: what RowKernels::predict takes. `taps` are the numbers of taps per group.
template <class R>
void effective_weights(const ClassParameters& p, const LaidOut& laid_out, R* weights);

// Activity of a code, its size relative to the class's mean: min(255, about 16 |code| / mean), see CodeKernels::activity.
struct ActivityScale {
  int right, left;
  u32 factor;
};
ActivityScale activity_scale(int mean);
constexpr int smallest_mean = 1, largest_mean = 81 + 4 * 62;
int mean_index(u64 sum, u64 count);  // of |code|; integers only

// What contexts see of the neighbours in the standard stencil: groups of different weights, which add up to at most 257 over all taps.
struct ContextStencil {
  Stencil stencil;
  u16 weights[max_groups];
};
const ContextStencil& context_stencil(int mask, int active);  // made once
extern const u16 context_thresholds[contexts];

// Default models and what the parameters have said so far.
class ModelState {
 public:
  Model predicted(int mean, int context) const;
  void learn(int mean, int context, const Model& m);

 private:
  struct Deviation {
    int steps = 0;  // scale or zero-run steps from the default
    u8 shape = 0, value = 8;
  };
  Deviation direct_[contexts], run_length_[contexts];
};

// The model of codes that are about evenly spread, as raw bits.
inline Model even_model(int bits) {
  Model m;
  m.even_bits = u8(bits);
  return m;
}

// The bits that a refinement (layers.h) adds to the codes of a class, and the index of the mean |code| that the level's own section
// promises with them; 0 if it promises none.
struct AddedBits {
  int bits, mean;
  int even_bits() const { return bits <= 7 ? bits + 1 : 0; }  // of codes of the model `even`; 0: there is none
};
inline AddedBits added_bits(int bits, int mean_of_level, int bits_so_far) {
  return {bits, mean_of_level ? (mean_of_level + 4 * bits_so_far < largest_mean ? mean_of_level + 4 * bits_so_far : largest_mean) : 0};
}

// The same as ModelState for codes of a refinement, which are cut at the bits that it adds.
class RefinedModelState {
 public:
  Model predicted(const AddedBits& added, int mean, int context) const;
  void learn(const AddedBits& added, int mean, int context, const Model& m);

 private:
  struct Deviation {
    bool any = false;
    bool even = false;
    int steps = 0;  // scale or zero-run steps from the default
    u8 shape_or_value = 0;
  };
  Deviation deviation_[4][contexts];  // from defaults of four kinds: run-length mode, Laplace, Gauss, even
};

// The widest shift of a model whose codes are `bits` wide.
constexpr int max_model_shift(int bits) { return bits - 8; }

}  // namespace stz
