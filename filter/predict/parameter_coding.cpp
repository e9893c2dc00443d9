#include "predict/parameter_coding.h"

#include <algorithm>

namespace stz {

namespace {

// Encoder and decoder share the same walk over the parameters.
struct Writer {
  BinaryEncoder& out;
  int bit(BitModel& m, int b) {
    out.bit(m, b);
    return b;
  }
  u64 number(NumberModel& m, u64 v) {
    out.number(m, v);
    return v;
  }
  i64 signed_number(SignedModel& m, i64 v, i64) {
    out.signed_number(m, v);
    return v;
  }
};
struct Reader {
  BinaryDecoder& in;
  int bit(BitModel& m, int) { return in.bit(m); }
  u64 number(NumberModel& m, u64) { return in.number(m); }
  // Larger numbers are clipped to `limit`, which is out of range wherever it is added.
  i64 signed_number(SignedModel& m, i64, i64 limit) { return std::clamp(in.signed_number(m), -limit, limit); }
};

// Fails unless 0 <= v < count. Numbers from `count` on are reserved.
int known_number(i64 v, int count) {
  require(v >= 0, STZ_ERROR_CORRUPT);
  require(v < count, STZ_ERROR_VERSION);
  return int(v);
}

// A bit that is reserved for a further choice and must be 0.
template <class Coder>
void code_reserved_bit(Coder c, BitModel& m) {
  require(!c.bit(m, 0), STZ_ERROR_VERSION);
}

template <class Coder>
void code_model(Coder c, ParameterModels& m, const Model& base, Model& p, int max_shift, int even_bits) {
  if (c.bit(m.same_model, p == base)) {
    p = base;
    require(p.shift() <= max_shift, STZ_ERROR_CORRUPT);
    return;
  }
  bool same_mode = c.bit(m.same_mode, p.run_length == base.run_length);
  p.run_length = same_mode ? base.run_length : !base.run_length;
  if (p.run_length) {
    int from = same_mode ? base.zero_run : 8;
    p.zero_run = u8(known_number(from + c.signed_number(m.steps, int(p.zero_run) - from, 2 * zero_run_tables), zero_run_tables));
    int value = same_mode ? base.value : 8;
    p.value = u8(c.bit(m.value_same, p.value == value) ? value : known_number(i64(c.number(m.value, p.value)), value_tables));
    p.scale = p.shape = p.even_bits = 0;
  } else if (even_bits && c.bit(m.even, p.even_bits != 0)) {
    p = even_model(even_bits);
  } else {
    int from = !same_mode ? 12 : base.even_bits ? 4 * even_bits + 14 : base.scale;
    p.scale = u16(known_number(from + c.signed_number(m.steps, int(p.scale) - from, 2 * scale_limit), scale_limit));
    require(p.shift() <= max_shift, STZ_ERROR_CORRUPT);
    int high = c.bit(m.shape[0], p.shape >> 1);
    p.shape = u8(high << 1 | c.bit(m.shape[1 + high], p.shape & 1));
    p.zero_run = p.value = p.even_bits = 0;
  }
}

// A weight of the coarser level in units of 2^-precision.
i64 coarser_weight(const ClassParameters& coarser, int g, int precision) {
  if (g >= coarser.groups) return 0;
  int d = precision - coarser.precision;
  return d >= 0 ? i64(coarser.weight[g]) << d : i64(coarser.weight[g]) >> -d;
}

bool same_weights(const ClassParameters& a, const ClassParameters& b) {
  return a.precision && a.precision == b.precision && a.stencil == b.stencil && std::equal(a.weight, a.weight + a.groups, b.weight);
}

// Whether the weights are shorter to code as changes of the coarser level's.
bool changes_are_shorter(const ClassParameters& p, const ClassParameters& coarser) {
  int plain = 0, changes = 0;
  auto size = [](i64 v) { return 2 * floor_log2(u64(v < 0 ? -v : v) + 1); };
  for (int g = 0; g < p.groups; g++) {
    plain += size(p.weight[g]);
    changes += size(p.weight[g] - coarser_weight(coarser, g, p.precision));
  }
  return changes < plain;
}

// Fails for a stencil that is not allowed on a level with these active axes.
void require_stencil(int stencil, int active_mask) {
  require(stencil != stencil_long || __builtin_popcount(unsigned(active_mask)) <= most_axes_of_long_stencil, STZ_ERROR_CORRUPT);
}

template <class Coder>
void code_weights(Coder c, ParameterModels& m, ParameterState& state, int cls, int active_mask, ClassParameters& p) {
  const ClassParameters& coarser = state.coarser[cls];
  const bool reference = state.has_coarser[cls] && coarser.precision;
  if (reference && c.bit(m.coarse_weights, same_weights(p, coarser))) {
    p.precision = coarser.precision;
    p.stencil = coarser.stencil;
    p.groups = coarser.groups;
    std::copy(coarser.weight, coarser.weight + max_groups, p.weight);
    require_stencil(p.stencil, active_mask);
    return;
  }
  if (!c.bit(m.any_weights, p.precision != 0)) {
    p.precision = 0;
    p.stencil = stencil_standard;
    p.groups = u8(stencil_of(stencil_standard, cls, active_mask).groups.size());
    return;
  }
  bool wide = c.bit(m.stencil[0], p.stencil != stencil_standard);
  p.stencil = u8(wide ? 1 + c.bit(m.stencil[1], p.stencil == stencil_long) : 0);
  if (p.stencil == stencil_long) code_reserved_bit(c, m.stencil[2]);
  require_stencil(p.stencil, active_mask);
  p.groups = u8(stencil_of(StencilId(p.stencil), cls, active_mask).groups.size());
  if (c.bit(m.precision_same, p.precision == state.precision))
    p.precision = u8(state.precision);
  else
    p.precision = u8(1 + known_number(i64(c.number(m.precision, u64(p.precision - 1))), max_precision));
  state.precision = p.precision;
  bool changes = reference && c.bit(m.reference, changes_are_shorter(p, coarser));
  int odd = __builtin_popcount(unsigned(cls));
  for (int g = 0; g < p.groups; g++) {
    i64 base = changes ? coarser_weight(coarser, g, p.precision) : 0;
    SignedModel& model = changes ? m.weight_change : m.weight[g < odd ? 0 : g < 3 * odd ? 1 : 2];
    const i64 weight = base + c.signed_number(model, p.weight[g] - base, 2 * largest_weight + (base < 0 ? -base : base));
    require(weight >= -largest_weight && weight <= largest_weight, STZ_ERROR_CORRUPT);
    p.weight[g] = i32(weight);
  }
}

template <class Coder>
void code_feedback(Coder c, ParameterModels& m, const FeedbackParameters* coarser, int active_mask, FeedbackParameters& p) {
  if (!c.bit(m.feedback, p.any)) {
    p = {};
    return;
  }
  if (coarser && coarser->any && c.bit(m.same_feedback, p == *coarser)) {
    p = *coarser;
    return;
  }
  p.any = true;
  p.all_codes = c.bit(m.all_codes, p.all_codes);
  if (!p.all_codes) {
    constexpr int usual = FeedbackParameters().bits, least = FeedbackParameters::least_bits, most = FeedbackParameters::most_bits;
    const i64 bits = usual + c.signed_number(m.feedback_bits, p.bits - usual, most);
    require(bits >= least && bits <= most, STZ_ERROR_CORRUPT);
    p.bits = u8(bits);
  }
  auto code_weight = [&](int axis, i16& w) {
    const i64 weight = c.signed_number(m.feedback_weight[axis], w, 2 * FeedbackParameters::largest);
    require(weight >= -FeedbackParameters::largest && weight <= FeedbackParameters::largest, STZ_ERROR_CORRUPT);
    w = i16(weight);
  };
  for (auto& before : p.before)
    for (int axis = 2; axis >= 0; axis--)
      if (active_mask >> axis & 1) code_weight(axis, before[2 - axis]);
  code_weight(3, p.beside);
}

// Codes the mean of a class and the models of its contexts. predicted(k): the default of a context; learn(k, model): called with each
// model. `even_bits`: of the model `even`, or 0.
template <class Coder, class State, class Predicted, class Learn>
void code_mean_and_models(Coder c, ParameterModels& m, State& state, int max_shift, int even_bits, ClassParameters& p, Predicted predicted,
                          Learn learn) {
  if (!c.bit(m.any_codes, p.mean != 0)) {
    p.mean = 0;
    return;  // no models either: every code is zero
  }
  i64 mean = state.mean + c.signed_number(m.mean, p.mean - state.mean, 2 * largest_mean);
  require(mean >= smallest_mean && mean <= largest_mean, STZ_ERROR_CORRUPT);
  p.mean = int(mean);
  state.mean = p.mean;
  for (int k = 0; k < contexts; k++) {
    code_model(c, m, predicted(k), p.model[k], max_shift, even_bits);
    learn(k, p.model[k]);
  }
}

template <class Coder>
void code_class(Coder c, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level, ClassParameters& p) {
  const int active_mask = of_level.active_mask;
  if (c.bit(m.predictor[0], p.predictor != predict_linear)) {
    p.predictor = u8(1 + c.bit(m.predictor[1], p.predictor == predict_median_faces));
    if (p.predictor == predict_median_faces) code_reserved_bit(c, m.predictor[2]);
    p.precision = 0;
    p.stencil = stencil_standard;
    p.groups = u8(stencil_of(stencil_standard, cls, active_mask).groups.size());
  } else {
    p.predictor = predict_linear;
    code_weights(c, m, state, cls, active_mask, p);
  }
  if (of_level.with_feedback) code_feedback(c, m, state.has_coarser[cls] ? &state.coarser[cls].feedback : nullptr, active_mask, p.feedback);
  state.coarser[cls] = p;
  state.has_coarser[cls] = true;
  ModelState& models = state.codes.models;
  code_mean_and_models(
      c, m, state.codes, of_level.max_shift, 0, p, [&](int k) { return models.predicted(p.mean, k); },
      [&](int k, const Model& model) { models.learn(p.mean, k, model); });
}

template <class Coder>
void code_refined_class(Coder c, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added, ClassParameters& p) {
  RefinedModelState& models = state.models;
  code_mean_and_models(
      c, state.coder, state, of_level.max_shift, added.even_bits(), p, [&](int k) { return models.predicted(added, p.mean, k); },
      [&](int k, const Model& model) { models.learn(added, p.mean, k, model); });
}

}  // namespace

void write_class(BinaryEncoder& out, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                 const ClassParameters& p) {
  ClassParameters copy = p;
  code_class(Writer{out}, m, state, cls, of_level, copy);
}

void read_class(BinaryDecoder& in, ParameterModels& m, ParameterState& state, int cls, const ParameterContext& of_level,
                ClassParameters& p) {
  code_class(Reader{in}, m, state, cls, of_level, p);
}

void write_refined_class(BinaryEncoder& out, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                         const ClassParameters& p) {
  ClassParameters copy = p;
  code_refined_class(Writer{out}, state, of_level, added, copy);
}

void read_refined_class(BinaryDecoder& in, RefinedCodeState& state, const ParameterContext& of_level, const AddedBits& added,
                        ClassParameters& p) {
  code_refined_class(Reader{in}, state, of_level, added, p);
}

}  // namespace stz
