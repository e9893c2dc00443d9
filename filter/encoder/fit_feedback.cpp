#include "encoder/fit_feedback.h"

#include "encoder/feedback_samples.h"

namespace stz {
namespace {

constexpr u64 fewest_samples = 128;
constexpr double bits_of_weight = 6;                                              // that name one
constexpr double largest_weight = 127.49 / (1 << FeedbackParameters::unit_bits);  // rounded, magnitudes are below 2
constexpr double least_progress = 0.001;                                          // a trial that saves less is the last
constexpr int nearness = 1;                                                       // of weights that need no other trial
// of codes that are to be bytes: the mean that is called largest_byte_mean, and the share of wide ones
constexpr double largest_mean_size = 16, widest_share = 1.0 / 300;
static_assert(largest_byte_mean == 81 + 4 * 4);

using Products = const double[FeedbackSums::pitch * FeedbackSums::pitch];

// Solves for the `count` weights of weighted least squares. False if there is no use in them.
bool solve(Products& products, int count, double* weight) {
  constexpr int pitch = FeedbackSums::pitch;
  double a[pitch][pitch];
  for (int i = 0; i < count; i++) {
    for (int j = 0; j <= count; j++) a[i][j] = products[j < i ? j * pitch + i : i * pitch + j];
    a[i][i] = a[i][i] * (1 + 1e-4) + 1e-9;
  }
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++) {
      const double f = a[j][i] / a[i][i];
      for (int k = i; k <= count; k++) a[j][k] -= f * a[i][k];
    }
  for (int i = count - 1; i >= 0; i--) {
    double v = a[i][count];
    for (int j = i + 1; j < count; j++) v -= a[i][j] * weight[j];
    weight[i] = v / a[i][i];
    if (!(__builtin_fabs(weight[i]) < largest_weight)) return false;
  }
  return true;
}

// The finest unit of residuals of that mean size in which hardly any is out of range.
u8 residual_bits(double mean) {
  int bits = FeedbackParameters::least_bits;
  while (bits < FeedbackParameters::most_bits && (16 * mean + 2) * (2 << bits) < 32767) bits++;
  return u8(bits);
}

// The weights that a trial calls for; false if there is no use in them.
bool fit_weights(const FeedbackTrials& trials, const FeedbackSums& sums, FeedbackParameters& p) {
  const int terms = trials.terms();
  p.any = false;
  for (int parity : {0, 1}) {
    double weight[FeedbackTrial::most_columns] = {};
    if (!solve(sums.products[parity], terms + parity, weight)) return false;
    auto named = [&](double w) {
      const i16 units = i16(round_even(w * (1 << FeedbackParameters::unit_bits)));
      p.any |= units != 0;
      return units;
    };
    for (int t = 0; t < terms; t++) p.before[parity][2 - trials.axis(t)] = named(weight[t]);
    if (parity) p.beside = named(weight[terms]);
  }
  return p.any;
}

// Are all weights nearly the same?
bool near(const FeedbackParameters& a, const FeedbackParameters& b) {
  int most = abs(a.beside - b.beside);
  for (int parity : {0, 1})
    for (int t = 0; t < axes - 1; t++) most = std::max(most, abs(a.before[parity][t] - b.before[parity][t]));
  return most <= nearness;
}

}  // namespace

template <class S>
FeedbackFit fit_feedback(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, const FeedbackOptions& options) {
  FeedbackTrials trials(boxes, cls, p, options.step, options.samples);
  FeedbackFit best{{}, options.as_bytes};
  FeedbackParameters next;
  if (trials.samples() < fewest_samples) return best;
  const double samples = double(trials.samples()), scale = double(options.class_samples) / samples;
  const int weights = 2 * trials.terms() + 1;
  // what they need to be named, and what they gain on the samples that they are fitted on and nowhere else
  const double costs = bits_of_weight * weights + 1.44 * std::max(0.0, scale - 1) * weights / 4;
  FeedbackSums sums = trials.run(next);
  double least = trials.bits() * scale * (1 - options.least_gain);
  // what is seen of the class's own codes tells more than the coarser level's
  best.as_bytes = options.may_be_bytes && sums.size <= largest_mean_size * samples && sums.wide <= widest_share * samples;
  next.all_codes = !best.as_bytes;
  if (best.as_bytes) next.bits = residual_bits(sums.size / samples);
  for (int t = 1; t < options.trials; t++) {
    const FeedbackParameters last = next;
    if (!fit_weights(trials, sums, next)) break;
    if (t > 1 && near(next, last)) break;
    sums = trials.run(next);
    const double bits = trials.bits() * scale + costs;
    const bool settled = bits > least * (1 - least_progress);
    if (bits < least) {
      least = bits;
      best.parameters = next;
    }
    if (settled && t > 1) break;
  }
  return best;
}

#define STZ_INSTANTIATE(S) \
  template FeedbackFit fit_feedback(std::vector<SampledBox<S>>&, int, const ClassParameters&, const FeedbackOptions&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)

}  // namespace stz
