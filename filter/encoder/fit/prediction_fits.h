// Fits the predictions of the parity classes of a level to its boxes: stencils, weights or medians. Encoder only.
#pragma once
#include <algorithm>

#include "encoder/fit/fit.h"
#include "encoder/fit/sampled_boxes.h"

namespace stz {

// Offsets of taps; recomputed only if the layout of boxes changes.
class LastLaidOut {
 public:
  template <class F>
  const LaidOut& of(const BlockGeometry& g, F make) {
    if (!made_for_ || !g.same_layout(*made_for_)) laid_out_ = make();
    made_for_ = &g;
    return laid_out_;
  }

 private:
  LaidOut laid_out_;
  const BlockGeometry* made_for_ = nullptr;
};

// The raster index of a sample of a class in its box.
inline size_t number_in_class(const BlockGeometry& g, int cls, const Index& at) {
  const Index to = g.counts(cls);
  return size_t(((at[0] * to[1] + at[1]) * to[2] + at[2]) * to[3] + at[3]);
}

// Fits the predictions of the classes of a level in coding order.
template <class S>
class PredictionFits {
 public:
  PredictionFits(const LevelSource<S>& source, std::vector<SampledBox<S>>& boxes, size_t l, bool exact, StencilId widest)
      : source_(source),
        boxes_(boxes),
        l_(l),
        effort_(source.effort()),
        wide_saves_(l > 0   ? 0
                    : exact ? effort_.wide_saves / 5
                            : effort_.wide_saves),  // level 0 takes most of the time
        widest_(widest),
        active_(boxes[0].work.geometry.active_mask),
        samples_(most_groups(), most_samples()) {}

  ClassParameters fit(const ParameterState& state, int cls) {
    const FitOptions options = options_for(state, cls);
    ClassParameters p;
    p.groups = u8(options.standard_groups);
    if (in_boxes(cls) < fewest_in_class) return p;
    collect(cls);
    if (samples_.count() == 0) return p;
    Fit best = fit_class(samples_, options);
    if (effort_.medians && samples_.count() >= 60) try_medians(cls, options, best);
    return best.parameters;
  }

  // The cheapest of the predictions that earlier arrays had for this class, of no weights, and of the coarser level's. `as_bytes`: whether
  // codes will be bytes; set if the prediction is of an earlier array.
  ClassParameters choose(const ParameterState& state, int cls, const std::vector<const LearnedLevel*>& learned, bool& as_bytes) {
    const FitOptions options = options_for(state, cls);
    ClassParameters p;
    p.groups = u8(options.standard_groups);
    if (in_boxes(cls) < fewest_in_class) return p;
    std::vector<const Prediction*> linear;
    for (const LearnedLevel* level : learned) {
      const Prediction& known = level->of_class[cls].prediction;
      if (known.predictor == predict_linear && known.stencil <= widest_) linear.push_back(&known);
    }
    StencilId reach = stencil_standard;
    for (const Prediction* known : linear) reach = std::max(reach, StencilId(known->stencil));
    const Stencil& stencil = stencil_of(reach, cls, active_);
    const u64 wanted = std::clamp(options.class_samples / judged_share, fewest_judged, most_judged);
    collect(cls, stencil, wanted);
    // Few samples say little if nearly all residuals are small.
    if (samples_.cost_of_cubics() < enough_judged_bits) collect_spread(cls, stencil, 3 * wanted, 2);
    if (samples_.count() == 0) return p;
    Fit best = cheapest_linear(samples_, options, linear);
    judge_medians(cls, options, learned, best);
    best.parameters.feedback = {};
    for (const LearnedLevel* level : learned) {
      const LearnedClass& known = level->of_class[cls];
      if (!same_prediction(known.prediction, best.parameters)) continue;
      if (known.as_bytes && !may_use_byte_indices(source_.quantizer(l_), 0)) continue;
      best.parameters.feedback = known.prediction.feedback;
      as_bytes = known.as_bytes;
      break;
    }
    return best.parameters;
  }

 private:
  FitOptions options_for(const ParameterState& state, int cls) const {
    FitOptions options;
    options.odd = __builtin_popcount(unsigned(cls));
    options.standard_groups = groups_of(stencil_standard, cls);
    if (effort_.wide_stencils) options.wide_groups = groups_of(stencil_wide, cls);
    if (effort_.wide_stencils && widest_ == stencil_long) options.long_groups = groups_of(stencil_long, cls);
    options.coarser = state.has_coarser[cls] ? &state.coarser[cls] : nullptr;
    options.class_samples = source_.class_samples(l_, cls);
    options.wide_saves = wide_saves_;
    options.iterations = effort_.iterations;
    return options;
  }

  static constexpr u64 fewest_judged = 128, most_judged = 512, judged_share = 4;  // samples to choose among predictions that are known
  static constexpr u64 fewest_in_class = 48;                                      // smaller classes use the mean of the cubics
  static constexpr double enough_judged_bits = 300;
  static constexpr double enough_bits = 4000;    // cost of the samples of a fit, in bits, that suffices
  static constexpr u64 median_samples = 256;     // samples to decide whether a median is worth a closer look
  static constexpr u64 few_median_samples = 64;  // the same if medians of the previous class were far worse

  struct Run {  // kept for the medians
    const S* row;
    const u8* masked;
    size_t box;
    int n;
  };

  // Number of samples to fit the weights of a class of n samples to.
  static u64 fitted_samples(u64 n, const Effort& effort) {
    if (n <= effort.fewest_fitted) return n;
    u64 square_root = 1;
    while (square_root * square_root < n) square_root += square_root / 8 + 1;
    return std::clamp<u64>(effort.most_fitted / 500 * square_root, effort.fewest_fitted, effort.most_fitted);
  }
  int groups_of(StencilId id, int cls) const { return int(stencil_of(id, cls, active_).groups.size()); }
  u64 in_boxes(int cls) const {
    u64 n = 0;
    for (const SampledBox<S>& box : boxes_) n += box.work.geometry.samples(cls);
    return n;
  }
  int most_groups() const {
    int most = 0;
    const ParityClasses& classes = boxes_[0].work.geometry.classes;
    for (int c = 0; c < classes.count; c++) most = std::max(most, groups_of(widest_, classes.mask[c]));
    return most;
  }
  u64 most_samples() const {
    u64 most = 0;
    const ParityClasses& classes = boxes_[0].work.geometry.classes;
    for (int c = 0; c < classes.count; c++) most = std::max(most, in_boxes(classes.mask[c]));
    return std::min(most, 4 * fitted_samples(most, effort_)) + 2 * fit_run;
  }

  static bool same_prediction(const Prediction& a, const Prediction& b) {
    return a.predictor == b.predictor && a.stencil == b.stencil && a.precision == b.precision && a.groups == b.groups &&
           std::equal(a.weight, a.weight + max_groups, b.weight);
  }

  void collect_spread(int cls, const Stencil& stencil, u64 want, u64 seed) {
    STZ_STAGE(collect);
    LastLaidOut last;
    for_spread_runs(boxes_, cls, fit_run, want, seed, [&](SampledBox<S>& box, size_t number, const Index& at, int n) {
      if (samples_.full()) return;
      const BlockGeometry& g = box.work.geometry;
      const LaidOut& laid_out = last.of(g, [&] { return lay_out(g, g.values, cls, stencil); });
      const S* row = box.work.first(cls) + g.values.at(at[0], at[1], at[2]) + at[3];  // originals: the class is not coded yet
      const u8* masked = box.work.mask_or_null(cls);
      if (masked) masked += number_in_class(g, cls, at);
      runs_.push_back({row, masked, number, n});
      samples_.add_run<S>(laid_out.table(laid_out.groups), laid_out.odd, row, n, masked, source_.unit(l_));
    });
  }

  void collect(int cls, const Stencil& stencil, u64 want) {
    runs_.clear();
    samples_.clear(int(stencil.groups.size()));
    collect_spread(cls, stencil, want, 1);
  }

  void collect(int cls) {
    const Stencil& stencil = stencil_of(widest_, cls, active_);
    const u64 all = in_boxes(cls), want = std::min(fitted_samples(source_.class_samples(l_, cls), effort_), fitted_samples(all, effort_));
    collect(cls, stencil, want);
    if (want == all) return;
    // Masked samples do not count. If nearly all residuals are small, more samples are needed.
    const u64 got = samples_.count();
    const double learned = samples_.cost_of_cubics() / enough_bits;
    u64 more = want;
    if (got < want / 2) more = want * want / std::max<u64>(got, want / 64 + 1);
    if (learned < 1) more = std::max(more, std::min(4 * want, u64(double(want) / std::max(learned, 0.01))));
    if (more >= all) {
      collect(cls, stencil, all);
    } else if (more > want + want / 4)
      collect_spread(cls, stencil, more - want, 2);
  }

  void add_medians(int cls, bool faces, size_t every) {
    samples_.clear_alternatives();
    LastLaidOut last;
    RealOf<S> median[fit_run + row_slack];
    for (size_t r = every / 2; r < runs_.size(); r += every) {
      const Run& run = runs_[r];
      const BlockGeometry& g = boxes_[run.box].work.geometry;
      const LaidOut& near = last.of(g, [&] { return lay_out_nearest(g, g.values, cls, faces); });
      row_kernels<S>().median(run.row, near.offset.data(), near.taps[0], run.n, median);
      samples_.add_alternative<S>(median, run.row, run.n, run.masked, source_.unit(l_));
    }
  }

  // Compares the best prediction with the medians that earlier arrays had.
  void judge_medians(int cls, const FitOptions& options, const std::vector<const LearnedLevel*>& learned, Fit& best) {
    for (const u8 predictor : {predict_median_faces, predict_median}) {
      if (std::none_of(learned.begin(), learned.end(), [&](auto* l) { return l->of_class[cls].prediction.predictor == predictor; }))
        continue;
      add_medians(cls, predictor == predict_median_faces, 1);
      const double bits = samples_.cost_of_alternative() * double(options.class_samples) + 4;
      if (bits >= best.bits) continue;
      best.bits = bits;
      best.parameters = {};
      best.parameters.predictor = predictor;
      best.parameters.groups = u8(options.standard_groups);
    }
  }

  // Examines a median with all samples only if a few samples suggest that it wins.
  void try_medians(int cls, const FitOptions& options, Fit& best) {
    const double scale = double(options.class_samples), least = best.bits / scale;
    if (best.bits < 60) return;
    const size_t every = std::max<size_t>(1, samples_.count() / (medians_far_ ? few_median_samples : median_samples));
    medians_far_ = false;
    for (bool faces : {true, false}) {
      add_medians(cls, faces, every);
      double cost = samples_.cost_of_alternative();
      medians_far_ = cost > 1.6 * least;
      if (cost > 1.3 * least) break;
      if (every > 1 && cost < 1.15 * least) {
        add_medians(cls, faces, 1);
        cost = samples_.cost_of_alternative();
      }
      const double bits = cost * scale + 4;
      if (bits >= best.bits * 0.98) continue;
      best.bits = bits;
      best.parameters = {};
      best.parameters.predictor = faces ? predict_median_faces : predict_median;
      best.parameters.groups = u8(options.standard_groups);
    }
  }

  const LevelSource<S>& source_;
  std::vector<SampledBox<S>>& boxes_;
  const size_t l_;
  const Effort& effort_;
  const double wide_saves_;
  const StencilId widest_;
  const int active_;
  FitSamples samples_;
  std::vector<Run> runs_;
  bool medians_far_ = false;  // whether medians cost far more in the previous class
};

}  // namespace stz
