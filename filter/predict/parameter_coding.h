// Writes and reads the parameters of a level's parity classes. They are predicted from earlier classes and from the coarser level.
#pragma once
#include "coding/binary_coder.h"
#include "predict/parameters.h"

namespace stz {

// The adaptive models for a level's parameters: one instance per level, shared by its classes.
struct ParameterModels {
  BitModel predictor[3], coarse_weights, any_weights, stencil[3], precision_same, reference, any_codes;
  BitModel feedback, same_feedback, all_codes;
  SignedModel feedback_bits;
  SignedModel feedback_weight[axes];  // for neighbours along axes 0 to 3
  NumberModel precision;
  SignedModel weight[3], weight_change;
  SignedModel mean;
  BitModel same_model, same_mode, even, shape[4], value_same;
  SignedModel steps;
  NumberModel value;
};

// State of the codes of levels; passes from class to class and from level to level.
struct CodeState {
  ModelState models;
  int mean = 81;
};
// The same for the codes of a refinement.
struct RefinedCodeState {
  RefinedModelState models;
  int mean = 81;
  ParameterModels coder = fresh<ParameterModels>;
};

// State that passes from class to class and from level to level.
struct ParameterState {
  CodeState codes;
  std::vector<RefinedCodeState> refined;  // one per refinement
  int precision = 8;
  // Of the coarser level, by class mask:
  ClassParameters coarser[16];
  bool has_coarser[16] = {};
};

// What the parameters of all classes of a level depend on.
struct ParameterContext {
  int active_mask;
  int max_shift;       // of models
  bool with_feedback;  // false for the ULP-space quantizer
};
void write_class(BinaryEncoder& out, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                 const ClassParameters& p);
// Fails with STZ_ERROR_VERSION if parameters use reserved values: other predictors, stencils, precisions or tables.
void read_class(BinaryDecoder& in, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                ClassParameters& p);
// The parameters of a class in a refinement: only mean and models.
void write_refined_class(BinaryEncoder& out, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                         const ClassParameters& p);
void read_refined_class(BinaryDecoder& in, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                        ClassParameters& p);

}  // namespace stz
