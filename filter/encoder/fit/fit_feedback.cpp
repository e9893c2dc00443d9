#include "encoder/fit/fit_feedback.h"

#include "base/rough_log2.h"
#include "base/stages.h"
#include "encoder/fit/feedback_samples.h"

namespace stz {
namespace {

constexpr u64 fewest_for_feedback = 128;
constexpr double bits_of_weight = 6;                                              // to name one
constexpr double largest_weight = 127.49 / (1 << FeedbackParameters::unit_bits);  // when rounded, magnitudes are below 2
constexpr double least_progress = 0.001;                                          // a trial that saves less is the last one
// Extrapolates weights from trial to trial, because each trial only moves them part of the way to their limits.
constexpr double longer_step = 1.3;
constexpr double hope = 2;                      // feedback may save this multiple of what weights fitted without feedback promise
constexpr double least_gain_of_numbers = 0.01;  // feedback takes long if codes are numbers
constexpr int nearness = 1;                     // of weights that need no further trial
// Limits for codes as bytes: the mean that corresponds to largest_byte_mean, and the share of wide codes.
constexpr double largest_mean_size = 16, widest_share = 1.0 / 300;
static_assert(largest_byte_mean == 81 + 4 * 4);

using Products = const double[FeedbackSums::pitch * FeedbackSums::pitch];

// Solves weighted least squares for `count` weights. `left`: the share of the squares that remains. Returns false if the weights are
// useless.
bool solve(Products& products, int count, double* weight, double& left) {
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
  double explained = 0;
  for (int i = 0; i < count; i++) explained += a[i][count] * a[i][count] / a[i][i];
  const double squares = products[count * pitch + count];
  left = squares > 0 ? std::clamp(1 - explained / squares, 1e-3, 1.0) : 1;
  for (int i = count - 1; i >= 0; i--) {
    double v = a[i][count];
    for (int j = i + 1; j < count; j++) v -= a[i][j] * weight[j];
    weight[i] = v / a[i][i];
    if (!(__builtin_fabs(weight[i]) < largest_weight)) return false;
  }
  return true;
}

// The finest unit in which residuals of this mean size are hardly ever out of range.
u8 residual_bits(double mean) {
  int bits = FeedbackParameters::least_bits;
  while (bits < FeedbackParameters::most_bits && (16 * mean + 2) * (2 << bits) < 32767) bits++;
  return u8(bits);
}

// Computes the weights that follow from a trial with those of p. `gain`: bits saved per sample. Returns false if they are useless.
bool fit_weights(const FeedbackTrials& trials, const FeedbackSums& sums, FeedbackParameters& p, double& gain) {
  constexpr double unit = 1 << FeedbackParameters::unit_bits;
  const int terms = trials.terms();
  const double step = p.any ? longer_step : 1;
  p.any = false;
  gain = 0;
  for (int parity : {0, 1}) {
    double weight[FeedbackTrial::most_columns] = {}, left;
    if (!solve(sums.products[parity], terms + parity, weight, left)) return false;
    gain -= 0.25 * rough_log2(left);  // half of the samples
    auto name = [&](double w, i16& named) {
      const double units = double(named) + step * (w * unit - double(named));
      named = i16(round_even(std::clamp(units, -double(FeedbackParameters::largest), double(FeedbackParameters::largest))));
      p.any |= named != 0;
    };
    for (int t = 0; t < terms; t++) name(weight[t], p.before[parity][2 - trials.axis(t)]);
    if (parity) name(weight[terms], p.beside);
  }
  return p.any;
}

// Whether all weights are nearly equal.
bool near(const FeedbackParameters& a, const FeedbackParameters& b) {
  int most = abs(a.beside - b.beside);
  for (int parity : {0, 1})
    for (int t = 0; t < axes - 1; t++) most = std::max(most, abs(a.before[parity][t] - b.before[parity][t]));
  return most <= nearness;
}

}  // namespace

template <class S>
FeedbackFit fit_feedback(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, const FeedbackOptions& options,
                         int threads) {
  STZ_STAGE(feedback);
  FeedbackTrials trials(boxes, cls, p, options.step, options.samples, threads);
  FeedbackFit best{{}, options.as_bytes};
  FeedbackParameters next;
  if (trials.samples() < fewest_for_feedback) return best;
  const double samples = double(trials.samples()), scale = double(options.class_samples) / samples;
  const int weights = 2 * trials.terms() + 1;
  // The cost of naming the weights, and what they gain only on the samples that they are fitted to.
  const double costs = bits_of_weight * weights + 1.44 * std::max(0.0, scale - 1) * weights / 4;
  FeedbackSums sums = trials.run(next);
  // The class's own codes are better evidence than the coarser level.
  best.as_bytes = options.may_be_bytes && sums.size <= largest_mean_size * samples && sums.wide <= widest_share * samples;
  next.all_codes = !best.as_bytes;
  if (best.as_bytes) next.bits = residual_bits(sums.size / samples);
  double gain;
  if (!fit_weights(trials, sums, next, gain) || hope * gain * double(options.class_samples) < costs) return best;
  const double plain_bits = trials.bits() * scale,
               least_gain = best.as_bytes ? options.least_gain : std::max(options.least_gain, least_gain_of_numbers);
  double least = plain_bits * (1 - least_gain);
  if (hope * gain * double(options.class_samples) < plain_bits - least) return best;
  for (int t = 1; t < options.trials; t++) {
    sums = trials.run(next);
    const double bits = trials.bits() * scale + costs;
    const bool settled = bits > least * (1 - least_progress);
    if (bits < least) {
      least = bits;
      best.parameters = next;
    }
    const FeedbackParameters last = next;
    if ((settled && t > 1) || !fit_weights(trials, sums, next, gain) || near(next, last)) break;
    // The weights that follow from the last trial are better still.
    if (t + 1 == options.trials && !settled) best.parameters = next;
  }
  return best;
}

#define STZ_INSTANTIATE(S) \
  template FeedbackFit fit_feedback(std::vector<SampledBox<S>>&, int, const ClassParameters&, const FeedbackOptions&, int);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
