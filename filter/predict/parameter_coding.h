// How the parameters of a level's parity classes are written and read. What was said of earlier classes and of the coarser level tells what
// to expect.
#pragma once
#include "coding/binary_coder.h"
#include "predict/parameters.h"

namespace stz {

// Coding of a level's parameters; one coder instance per level, adaptive over its classes.
struct ParameterModels {
  BitModel predictor[3], coarse_weights, any_weights, stencil[3], precision_same, reference, any_codes;
  BitModel feedback, same_feedback, all_codes;
  SignedModel feedback_bits;
  SignedModel feedback_weight[axes];  // of neighbours along axes 0 to 3
  NumberModel precision;
  SignedModel weight[3], weight_change;
  SignedModel mean;
  BitModel same_model, same_mode, even, shape[4], value_same;
  SignedModel steps;
  NumberModel value;
};

// Of the codes of levels, from class to class and from level to level.
struct CodeState {
  ModelState models;
  int mean = 81;
};
// Of the codes of a refinement.
struct RefinedCodeState {
  RefinedModelState models;
  int mean = 81;
  ParameterModels coder = fresh<ParameterModels>;
};

// State that passes from class to class and from level to level.
struct ParameterState {
  CodeState codes;
  std::vector<RefinedCodeState> refined;  // of each refinement
  int precision = 8;
  // of the coarser level, by class mask
  ClassParameters coarser[16];
  bool has_coarser[16] = {};
};

// What the parameters of all classes of a level depend on.
struct ParameterContext {
  int active_mask;
  int max_shift;       // of models
  bool with_feedback;  // the quantiser is not that of ULP space
};
void write_class(BinaryEncoder& out, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                 const ClassParameters& p);
// Fails with STZ_ERROR_VERSION where the parameters name what is reserved: further predictors and stencils, finer weights, further tables.
void read_class(BinaryDecoder& in, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                ClassParameters& p);
// Of a class in a refinement: the mean and the models alone.
void write_refined_class(BinaryEncoder& out, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                         const ClassParameters& p);
void read_refined_class(BinaryDecoder& in, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                        ClassParameters& p);

}  // namespace stz
