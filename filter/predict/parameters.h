// The parameters of a level: for each parity class its prediction and the models of its codes (quantization indices).
//
// Prediction: mean of the 1-D cubics + sum over groups of weight * (group mean - mean of the cubics). Weights are multiples of
// 2^-precision.
// Models: the default model of a context follows from the class's mean |code|. Parameters name only contexts that differ from it. Named
// models become the default of later classes (coarse levels first).
#pragma once
#include "coding/code_stream.h"
#include "predict/block.h"

namespace stz {

enum Predictor : u8 { predict_linear = 0, predict_median = 1, predict_median_faces = 2, predictor_count = 3 };
constexpr int max_precision = 24;
constexpr i64 largest_weight = i64(1) << 28;  // in units of 2^-precision; the encoder uses at most 2^26

// Residual feedback (feedback.h): adds weighted residuals of earlier samples of the same class and block to a prediction.
struct FeedbackParameters {
  static constexpr int unit_bits = 6;  // weights are multiples of 2^-6
  static constexpr int least_bits = 3, most_bits = 11;
  static constexpr int largest = 127;  // largest magnitude, in these units
  bool any = false;
  bool all_codes = false;  // all codes count, not only those up to largest_byte_code; codes are then numbers, not bytes
  u8 bits = 7;             // residuals are in units of 2^-bits steps, unless all codes count
  // Weights of the sample before along axes 2, 1 and 0, for samples of even and odd index along axis 3. 0 along inactive axes.
  i16 before[2][axes - 1] = {};
  i16 beside = 0;  // weight of both neighbours along axis 3, for samples of odd index
  bool operator==(const FeedbackParameters&) const = default;
};

// How the samples of a class are predicted.
struct Prediction {
  u8 predictor = predict_linear;
  u8 stencil = stencil_standard;
  u8 precision = 0;  // 0: no weights, only the mean of the 1-D cubics
  u8 groups = 0;     // number of groups of the stencil
  i32 weight[max_groups] = {};
  FeedbackParameters feedback;
};

struct ClassParameters : Prediction {
  // The members below describe the codes in the level's section, which lack this many lowest bits (layers.h).
  int unknown_bits = 0;
  int mean = 0;  // mean |code| of the class: 0 if all codes are zero, else 2^((mean - 81) / 4)
  Model model[contexts];
};

// The weights of the sums of groups, as RowKernels::predict takes them.
template <class R>
void effective_weights(const ClassParameters& p, const LaidOut& laid_out, R* weights);

// The activity of a code is its magnitude relative to the class's mean: min(255, about 16 |code| / mean), see CodeKernels::activity.
struct ActivityScale {
  int right, left;
  u32 factor;
};
ActivityScale activity_scale(int mean);
constexpr int smallest_mean = 1, largest_mean = 81 + 4 * 62;
int mean_index(u64 sum, u64 count);  // of |code|; integer arithmetic

// The neighbours of contexts: the standard stencil, with groups of different weights that add up to at most 257 over all taps.
struct ContextStencil {
  Stencil stencil;
  u16 weights[max_groups];
};
const ContextStencil& context_stencil(int mask, int active);  // made once and kept
extern const u16 context_thresholds[contexts];

// The default models, adapted to what parameters have named so far.
class ModelState {
 public:
  Model predicted(int mean, int context) const;
  void learn(int mean, int context, const Model& m);

 private:
  struct Deviation {
    int steps = 0;  // of scale or zero run from the default
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

// The bits that a refinement (layers.h) adds to the codes of a class, and the mean |code| index that the level's section implies for them;
// 0 if it implies none.
struct AddedBits {
  int bits, mean;
  int even_bits() const { return bits <= 7 ? bits + 1 : 0; }  // bits of codes of the model `even`; 0: there is none
};
inline AddedBits added_bits(int bits, int mean_of_level, int bits_so_far) {
  return {bits, mean_of_level ? (mean_of_level + 4 * bits_so_far < largest_mean ? mean_of_level + 4 * bits_so_far : largest_mean) : 0};
}

// The same as ModelState for codes of a refinement, which have only the bits that it adds.
class RefinedModelState {
 public:
  Model predicted(const AddedBits& added, int mean, int context) const;
  void learn(const AddedBits& added, int mean, int context, const Model& m);

 private:
  struct Deviation {
    bool any = false;
    bool even = false;
    int steps = 0;  // of scale or zero run from the default
    u8 shape_or_value = 0;
  };
  Deviation deviation_[4][contexts];  // for four kinds of defaults: run-length mode, Laplace, Gauss, even
};

// The largest shift of a model whose codes have `bits` bits.
constexpr int max_model_shift(int bits) { return bits - 8; }

}  // namespace stz
