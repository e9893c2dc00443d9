#include "predict/parameters.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/made_once.h"

namespace stz {

template <class R>
void effective_weights(const ClassParameters& p, const LaidOut& laid_out, R* weights) {
  double rest = 1, unit = 1.0 / double(i64(1) << p.precision), w[max_groups] = {};
  const int odd = laid_out.odd;
  if (p.precision)
    for (int g = 0; g < p.groups; g++) {
      w[g] = p.weight[g] * unit;
      rest -= w[g];
    }
  for (int k = 0; k < odd; k++) {
    w[k] += rest * 9 / 8 / odd;
    w[odd + k] -= rest / 8 / odd;
  }
  for (int g = 0; g < laid_out.groups; g++) weights[g] = R(w[g] / laid_out.taps[size_t(g)]);
}
template void effective_weights(const ClassParameters&, const LaidOut&, float*);
template void effective_weights(const ClassParameters&, const LaidOut&, double*);

// 16 / mean = 2^(4 - (mean - 81) / 4), as (factor / 4096) * 2^left / 2^right.
ActivityScale activity_scale(int mean) {
  static constexpr u32 quarter[4] = {4096, 3444, 2896, 2435};  // 4096 * 2^(-k/4)
  if (mean == 0) return {0, 9, 4095};
  int q = mean - 81, octave = q >= 0 ? q / 4 : -((3 - q) / 4);
  int e = 4 - octave;
  u32 factor = quarter[q - 4 * octave];
  return {e < 0 ? -e : 0, std::clamp(e, 0, 9), factor};
}

int mean_index(u64 sum, u64 count) {
  if (!sum || !count) return 0;
  int t = int(4 * i64(log2_fixed(sum)) - 4 * i64(log2_fixed(count)) + 128);
  t = t >= 0 ? t / 256 : -((255 - t) / 256);
  return std::clamp(t + 81, smallest_mean, largest_mean);
}

namespace {

std::unique_ptr<const ContextStencil> make_context_stencil(const Stencil& standard) {
  auto made = std::make_unique<ContextStencil>();
  std::vector<Group>& groups = made->stencil.groups;
  made->stencil.odd = standard.odd;
  int total = 0;
  for (const Group& g : standard.groups) total += g.context_weight;
  for (const Group& g : standard.groups) {
    const u16 weight = u16(256 * g.context_weight / (total * int(g.taps.size())));
    if (!weight) continue;
    const size_t k = size_t(std::find(made->weights, made->weights + groups.size(), weight) - made->weights);
    if (k == groups.size()) groups.push_back({});
    made->weights[k] = weight;
    groups[k].taps.insert(groups[k].taps.end(), g.taps.begin(), g.taps.end());
  }
  return made;
}

}  // namespace

const ContextStencil& context_stencil(int mask, int active) {
  static std::atomic<const ContextStencil*> made[16][16];  // never freed: nothing may run when the process ends
  return made_once(made[mask][active], [=] { return make_context_stencil(stencil_of(stencil_standard, mask, active)); });
}

// 4096 (a weighted mean of 16, the normalised mean) times 2^((k - 1) / 1.5 - 5)
const u16 context_thresholds[contexts] = {0, 128, 203, 323, 512, 813, 1290, 2048, 3251, 5161, 8192, 13004, 20643, 32768, 52016, 60000};

namespace {

// Expected |code| in a context as 2^(t / 4 - 8).
int expected(int mean, int context) {
  int t = mean - 49;
  if (context == 0) return t - 24;
  return t + (8 * (context - 1) - 56) / 3;
}
constexpr int run_length_below = 16;  // t: a mean |code| of 1/16

Model default_model(int mean, int context) {
  Model m;
  int t = mean ? expected(mean, context) : -20;
  m.run_length = t < run_length_below;
  m.scale = u16(default_scale_of(t));
  m.zero_run = u8(std::clamp(20 - t, 0, zero_run_tables - 1));
  m.value = 8;
  return m;
}

}  // namespace

Model ModelState::predicted(int mean, int context) const {
  Model m = default_model(mean, context);
  if (m.run_length) {
    const Deviation& d = run_length_[context];
    m.zero_run = u8(std::clamp(int(m.zero_run) + d.steps, 0, zero_run_tables - 1));
    m.value = d.value;
    m.scale = 0;
  } else {
    const Deviation& d = direct_[context];
    m.scale = u16(std::clamp(int(m.scale) + d.steps, 0, scale_limit - 1));
    m.shape = d.shape;
    m.zero_run = m.value = 0;
  }
  return m;
}

void ModelState::learn(int mean, int context, const Model& m) {
  Model base = default_model(mean, context);
  if (m.run_length != base.run_length) return;
  Deviation& d = m.run_length ? run_length_[context] : direct_[context];
  d.steps = m.run_length ? int(m.zero_run) - int(base.zero_run) : int(m.scale) - int(base.scale);
  d.shape = m.shape;
  d.value = m.value;
}

namespace {

enum RefinedKind { refined_run_length, refined_laplace, refined_gauss, refined_even };

Model even_model(int bits) {
  Model m;
  m.even_bits = u8(bits);
  return m;
}

// Codes of a refinement are below 2^bits: where they are expected to be large they are about evenly spread. Of their mean and that which
// the level promises, the truth is about halfway: samples that were zero so far are where codes are small.
Model default_refined_model(const AddedBits& added, int mean, int context, RefinedKind& kind) {
  Model m;
  const int t = expected(added.mean > mean ? (added.mean + mean) / 2 : mean, context), above = t - 4 * added.bits;
  if (added.bits > 1 && added.even_bits() && above >= (added.bits == 2 ? 39 : 33)) {
    kind = refined_even;
    return even_model(added.even_bits());
  }
  m.run_length = t < run_length_below;
  const bool wide = added.bits == 1 ? t >= 19 : above >= 25;
  kind = m.run_length ? refined_run_length : wide ? refined_gauss : refined_laplace;
  if (m.run_length) {
    m.scale = 0;
    m.zero_run = u8(std::clamp(20 - t, 0, zero_run_tables - 1));
    m.value = u8(std::min(8, 4 * (added.bits - 1)));
  } else if (wide) {
    m.shape = 1;
    m.scale = u16(added.bits == 1 ? std::min(20, 9 + t / 3) : 4 * added.bits + 16 + int(above >= 28) + int(above >= 34));
  } else {
    m.scale = u16(default_scale_of(t));
  }
  return m;
}

}  // namespace

Model RefinedModelState::predicted(const AddedBits& added, int mean, int context) const {
  RefinedKind kind;
  Model m = default_refined_model(added, mean, context, kind);
  const Deviation& d = deviation_[kind][context];
  if (!d.any) return m;
  if (d.even) return added.even_bits() ? even_model(added.even_bits()) : m;
  m.even_bits = 0;
  if (m.run_length) {
    m.zero_run = u8(std::clamp(int(m.zero_run) + d.steps, 0, zero_run_tables - 1));
    m.value = d.shape_or_value;
  } else {
    m.scale = u16(std::clamp(int(m.scale) + d.steps, 0, scale_limit - 1));
    m.shape = d.shape_or_value;
  }
  return m;
}

void RefinedModelState::learn(const AddedBits& added, int mean, int context, const Model& m) {
  RefinedKind kind;
  const Model base = default_refined_model(added, mean, context, kind);
  if (m.run_length != base.run_length) return;
  const int steps = m.run_length ? int(m.zero_run) - int(base.zero_run) : int(m.scale) - int(base.scale);
  deviation_[kind][context] = {true, m.even_bits != 0, m.even_bits ? 0 : steps, m.run_length ? m.value : m.shape};
}

namespace {

// The same walk over the parameters for writing and reading.
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
  // Numbers beyond `limit`, which is out of range wherever it is added to, become this.
  i64 signed_number(SignedModel& m, i64, i64 limit) { return std::clamp(in.signed_number(m), -limit, limit); }
};

// Fails unless 0 <= v < count. Numbers from `count` on are reserved.
int known_number(i64 v, int count) {
  require(v >= 0, STZ_ERROR_CORRUPT);
  require(v < count, STZ_ERROR_VERSION);
  return int(v);
}

// A bit that is 0 until there is a further choice.
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

// Are the weights shorter as changes of the coarser level's?
bool changes_are_shorter(const ClassParameters& p, const ClassParameters& coarser) {
  int plain = 0, changes = 0;
  auto size = [](i64 v) { return 2 * floor_log2(u64(v < 0 ? -v : v) + 1); };
  for (int g = 0; g < p.groups; g++) {
    plain += size(p.weight[g]);
    changes += size(p.weight[g] - coarser_weight(coarser, g, p.precision));
  }
  return changes < plain;
}

// Fails for a stencil that a level with these active axes may not have.
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

// The mean of a class and the models of its contexts. predicted(k): that of a context; learn(k, model): what was named or kept.
// `even_bits`: of the model `even`, or 0.
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
