#include "encoder/fit_feedback.h"

#include "encoder/feedback_samples.h"

namespace stz {
namespace {

constexpr u64 fewest_samples = 64;
constexpr double bits_of_weight = 6;                                              // that name one
constexpr double largest_weight = 127.49 / (1 << FeedbackParameters::unit_bits);  // rounded, magnitudes are below 2
constexpr double least_progress = 0.001;                                          // a trial that saves less is the last
// of codes that are to be bytes: the mean that is called largest_byte_mean, and the share of wide ones
constexpr double largest_mean_size = 16, widest_share = 1.0 / 300;
static_assert(largest_byte_mean == 81 + 4 * 4);

// Solves for the `count` weights of weighted least squares, whose products are in the upper triangle, with those of the difference in the
// last column. False if there is no use in them.
bool solve(double (*a)[feedback_columns + 1], int count, double* weight) {
  for (int i = 0; i < count; i++) {
    a[i][i] = a[i][i] * (1 + 1e-4) + 1e-9;
    for (int j = 0; j < i; j++) a[i][j] = a[j][i];
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

// The weights of a parity that the last trial calls for; false if there is no use in them.
bool fit_weights(const FeedbackTrials& trials, bool odd, i16* before, i16& beside) {
  const FeedbackSamples& s = trials.of_parity(odd);
  const int terms = trials.terms();
  const float* column[feedback_columns + 1];
  const int count = terms + odd;
  for (int t = 0; t < terms; t++) column[t] = s.column[t].data();
  if (odd) column[terms] = s.column[3].data();
  column[count] = s.difference.data();
  double products[(feedback_columns + 1) * (feedback_columns + 1)], a[feedback_columns + 1][feedback_columns + 1];
  kernels().fit.products(column, count + 1, s.share.data(), int(s.count), products);
  for (int i = 0; i <= count; i++)
    for (int j = 0; j <= count; j++) a[i][j] = products[i * (count + 1) + j];
  double weight[feedback_columns] = {};
  if (!solve(a, count, weight)) return false;
  auto named = [](double w) { return i16(round_even(w * (1 << FeedbackParameters::unit_bits))); };
  for (int t = 0; t < terms; t++) before[2 - trials.axis(t)] = named(weight[t]);
  if (odd) beside = named(weight[terms]);
  return true;
}

bool fit_weights(const FeedbackTrials& trials, FeedbackParameters& p) {
  i16 none = 0;
  if (!fit_weights(trials, false, p.before[0], none) || !fit_weights(trials, true, p.before[1], p.beside)) return false;
  p.any = p.beside != 0;
  for (const auto& before : p.before)
    for (i16 w : before) p.any |= w != 0;
  return p.any;
}

}  // namespace

template <class S>
FeedbackFit fit_feedback(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, const FeedbackOptions& options) {
  FeedbackTrials trials(boxes, cls, p, options.step, options.samples);
  FeedbackFit best{{}, options.as_bytes};
  FeedbackParameters next;
  if (trials.samples() < fewest_samples) return best;
  const double scale = double(options.class_samples) / double(trials.samples());
  const int weights = 2 * trials.terms() + 1;
  // what they need to be named, and what they gain on the samples that they are fitted on and nowhere else
  const double costs = bits_of_weight * weights + 1.44 * std::max(0.0, scale - 1) * weights / 4;
  double least = trials.run(next) * scale * (1 - options.least_gain);
  // what is seen of the class's own codes tells more than the coarser level's
  best.as_bytes = options.may_be_bytes && trials.mean_size() <= largest_mean_size && trials.wide() <= trials.samples() * widest_share;
  next.bits = residual_bits(trials.mean_size());
  for (int t = 1; t < options.trials; t++) {
    next.all_codes = !best.as_bytes;
    if (!fit_weights(trials, next)) break;
    const double bits = trials.run(next) * scale + costs;
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
