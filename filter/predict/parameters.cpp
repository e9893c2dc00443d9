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
  static std::atomic<const ContextStencil*> made[16][16];  // never freed: no destructor may run at exit
  return made_once(made[mask][active], [=] { return make_context_stencil(stencil_of(stencil_standard, mask, active)); });
}

// 4096 (a weighted mean of 16, the normalised mean) times 2^((k - 1) / 1.5 - 5).
const u16 context_thresholds[contexts] = {0, 128, 203, 323, 512, 813, 1290, 2048, 3251, 5161, 8192, 13004, 20643, 32768, 52016, 60000};

namespace {

// The expected |code| in a context, as 2^(t / 4 - 8).
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

// Codes of a refinement are below 2^bits, so expected large ones are nearly uniform. The true mean is about halfway between their mean and
// the one that the level implies: samples with zero codes so far are where codes are small.
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

}  // namespace stz
