#include "encoder/fit/fit_level.h"

#include <algorithm>

#include "base/stages.h"
#include "encoder/block/encode_block.h"
#include "encoder/block/split_codes.h"
#include "encoder/fit/choose_models.h"
#include "encoder/fit/fit.h"
#include "encoder/fit/fit_feedback.h"

namespace stz {
namespace {

// Levels of at most that many are learned whole; fuzzers and tests of faults have small arrays, and reach the path of large ones as well.
#if defined(STZ_FUZZING) || defined(STZ_FAULTS)
constexpr u64 exact_samples = 1u << 11;
#else
constexpr u64 exact_samples = 1u << 20;
#endif
constexpr u64 fewest_in_class = 48;        // smaller classes take the mean of the cubics
constexpr double enough_bits = 4000;       // that the samples of a fit should cost
constexpr u64 modelled_samples = 1 << 14;  // of a class, for its mean and its models
constexpr int modelled_run = 64;
constexpr u64 median_samples = 256;     // tell whether a median may be worth looking at;
constexpr u64 few_median_samples = 64;  // the same where the last class's were far from it

// Samples of a class of n that its weights are fitted on.
u64 fitted_samples(u64 n, const Effort& effort) {
  if (n <= effort.fewest_fitted) return n;
  u64 square_root = 1;
  while (square_root * square_root < n) square_root += square_root / 8 + 1;
  return std::clamp<u64>(effort.most_fitted / 500 * square_root, effort.fewest_fitted, effort.most_fitted);
}

// Offsets of taps, made anew where the layout of boxes changes.
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

// Raster number of a sample of a class in its box.
inline size_t number_in_class(const BlockGeometry& g, int cls, const Index& at) {
  const Index to = g.counts(cls);
  return size_t(((at[0] * to[1] + at[1]) * to[2] + at[2]) * to[3] + at[3]);
}

// Fits the predictions of the classes of a level, in coding order.
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
                            : effort_.wide_saves),  // level 0 is where the time goes
        widest_(widest),
        active_(boxes[0].work.geometry.active_mask),
        samples_(most_groups(), most_samples()) {}

  ClassParameters fit(const ParameterState& state, int cls) {
    FitOptions options;
    options.odd = __builtin_popcount(unsigned(cls));
    options.standard_groups = groups_of(stencil_standard, cls);
    if (effort_.wide_stencils) options.wide_groups = groups_of(stencil_wide, cls);
    if (effort_.wide_stencils && widest_ == stencil_long) options.long_groups = groups_of(stencil_long, cls);
    options.coarser = state.has_coarser[cls] ? &state.coarser[cls] : nullptr;
    options.class_samples = source_.class_samples(l_, cls);
    options.wide_saves = wide_saves_;
    options.iterations = effort_.iterations;
    ClassParameters p;
    p.groups = u8(options.standard_groups);
    if (in_boxes(cls) < fewest_in_class) return p;
    collect(cls);
    if (samples_.count() == 0) return p;
    Fit best = fit_class(samples_, options);
    if (effort_.medians && samples_.count() >= 60) try_medians(cls, options, best);
    return best.parameters;
  }

 private:
  struct Run {  // kept for the medians
    const S* row;
    const u8* masked;
    size_t box;
    int n;
  };

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

  void collect(int cls) {
    const Stencil& stencil = stencil_of(widest_, cls, active_);
    LastLaidOut last;
    auto collect_spread = [&](u64 want, u64 seed) {
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
    };
    const u64 all = in_boxes(cls), want = std::min(fitted_samples(source_.class_samples(l_, cls), effort_), fitted_samples(all, effort_));
    auto restart = [&] {
      runs_.clear();
      samples_.clear(int(stencil.groups.size()));
    };
    restart();
    collect_spread(want, 1);
    if (want == all) return;
    // masked samples do not count, and where nearly all residuals are small it takes more of them to learn from
    const u64 got = samples_.count();
    const double learned = samples_.cost_of_cubics() / enough_bits;
    u64 more = want;
    if (got < want / 2) more = want * want / std::max<u64>(got, want / 64 + 1);
    if (learned < 1) more = std::max(more, std::min(4 * want, u64(double(want) / std::max(learned, 0.01))));
    if (more >= all) {
      restart();
      collect_spread(all, 1);
    } else if (more > want + want / 4)
      collect_spread(more - want, 2);
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

  // A median is looked at closely only where a few samples promise that it wins.
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
  bool medians_far_ = false;  // did they cost far more in the class before?
};

// Codes of a class in all boxes whose contexts are known, of which some tell its mean and its models.
template <class S>
const ClassHistogram& count_codes(const std::vector<SampledBox<S>>& boxes, int cls, u64 want, CodeHistogram& histogram) {
  histogram.clear();
  u64 samples = 0;
  for (const SampledBox<S>& box : boxes) samples += box.work.geometry.samples(cls);
  // pieces of equal length, at a random place in each of as many parts
  u64 part = 0, passed = 0;
  const u64 pieces = samples / modelled_run, wanted = want / modelled_run;
  for (const SampledBox<S>& box : boxes) {
    const u64 n = box.work.geometry.samples(cls);
    const ClassCodes<CodeOf<S>>& codes = box.work.codes[cls];
    const u8* context = box.context[cls].data();
    const bool masked = box.work.mask_or_null(cls);
    if (wanted >= pieces)
      histogram.add(codes, 0, context, n, masked);
    else
      for (; part < wanted; part++) {
        const u64 from = part * pieces / wanted, length = (part + 1) * pieces / wanted - from;
        const u64 at = (from + (u32(part * 2654435769u) * length >> 32)) * modelled_run;
        if (at >= passed + n) break;
        const u64 first = std::max(at, passed) - passed;
        histogram.add(codes, first, context + first, std::min<u64>(modelled_run, n - first), masked);
      }
    passed += n;
  }
  return histogram.result();
}

// The mean |code| of a class and its models. Returns its size in bits. Large classes are judged by a part of their codes.
template <class S>
double fit_models(const LevelSource<S>& source, const ParameterState& state, std::vector<SampledBox<S>>& boxes, bool exact, size_t l,
                  int cls, CodeHistogram& counted, ClassParameters& p) {
  using Code = CodeOf<S>;
  const ClassHistogram& histogram = count_codes(boxes, cls, modelled_samples, counted);
  u64 sum = 0, count = 0;
  add_up<Code>(histogram, sum, count);
  // few codes that are not zero say little
  if (sum < modelled_samples / 2 && count >= modelled_samples / 2) {
    count_codes(boxes, cls, 8 * modelled_samples, counted);
    sum = count = 0;
    add_up<Code>(histogram, sum, count);
  }
  p.mean = mean_index(sum, count);
  // a part may miss what is rare, and an outlier needs its code: no codes at all is for classes known to be zero
  auto only_zeros = [&] {
    for (const SampledBox<S>& box : boxes) {
      const ClassCodes<Code>& codes = box.work.codes[cls];
      const size_t n = size_t(box.work.geometry.samples(cls));
      if (!codes.wide_codes.empty() || !codes.outliers.empty()) return false;
      if (codes.as_bytes ? kernels().bytes.largest(codes.bytes.data(), n) : code_kernels<Code>().largest(codes.numbers.data(), int(n)))
        return false;
    }
    return true;
  };
  if (!p.mean && !(exact && only_zeros())) p.mean = smallest_mean;
  if (!p.mean) return 0;
  const double scale = double(source.class_samples(l, cls)) / double(std::max<u64>(1, count));
  Model predicted[contexts];
  for (int k = 0; k < contexts; k++) predicted[k] = state.codes.models.predicted(p.mean, k);
  return choose_models(histogram, scale, predicted, {max_model_shift(8 * int(sizeof(Code)))}, p) * scale;
}

// The same for what a refinement adds to codes that are zero so far. Its bits of other codes need no model.
template <class S>
double fit_refined_models(const LevelSource<S>& source, const RefinedCodeState& state, const std::vector<SampledBox<S>>& boxes, size_t l,
                          int cls, size_t number, const FittedRefinement& refinement, const AddedBits& of_class, CodeHistogram& histogram,
                          ClassParameters& p) {
  using Code = CodeOf<S>;
  histogram.clear();
  RefinedCodes<Code> refined;
  u64 samples = 0, with_bits = 0;
  bool any = false;
  for (const SampledBox<S>& box : boxes) {
    const size_t n = size_t(box.work.geometry.samples(cls));
    refine_codes(box.work.whole_codes[cls], box.refined_context[number][size_t(cls)].data(), n, refinement.before, refinement.after,
                 refined);
    histogram.add(refined.codes, 0, refined.context.data(), n, true);
    samples += n;
    with_bits += refined.count;
  }
  const ClassHistogram& counted = histogram.result();
  u64 sum = 0, count = 0;
  add_up<Code>(counted, sum, count);
  any = sum != 0;
  const bool exact = samples == source.class_samples(l, cls);
  p.mean = any || !exact ? std::max(smallest_mean, mean_index(sum, count)) : 0;
  const double scale = double(source.class_samples(l, cls)) / double(std::max<u64>(1, samples));
  const double bits = double(with_bits) * (refinement.before - refinement.after);
  Model predicted[contexts];
  for (int k = 0; k < contexts && p.mean; k++) predicted[k] = state.models.predicted(of_class, p.mean, k);
  if (!p.mean) return scale * bits;
  const ModelChoice choice{max_model_shift(8 * int(sizeof(Code))), of_class.even_bits()};
  return scale * (bits + choose_models(counted, scale, predicted, choice, p));
}

// The refinements of a level, as the header has them.
std::vector<FittedRefinement> refinements_of(const Layers& layers, size_t l) {
  std::vector<FittedRefinement> refinements(layers.refinements());
  for (size_t r = 0; r < refinements.size(); r++) {
    refinements[r].before = layers.unknown_bits(l, r);
    refinements[r].after = layers.unknown_bits(l, r + 1);
  }
  return refinements;
}

template <class S>
FeedbackOptions feedback_options(const LevelSource<S>& source, size_t l, int cls, bool as_bytes) {
  const Effort& effort = source.effort();
  FeedbackOptions options;
  options.may_be_bytes = may_use_byte_indices(source.quantizer(l), 0);
  options.as_bytes = as_bytes;
  options.least_gain = l == 0 ? effort.feedback_saves : 0;
  options.trials = effort.feedback_trials;
  options.class_samples = source.class_samples(l, cls);
  options.samples = std::clamp<u64>(options.class_samples / 4, effort.feedback_samples / 2, effort.feedback_samples);
  options.step = 2 * source.unit(l);
  return options;
}

// Parameters and bits of what refinements add to the c-th class, which is coded. `so_far`: the parameters that they build on.
template <class S>
void fit_refinements(const LevelSource<S>& source, ParameterState& so_far, size_t l, int c, Team& team, CodeHistogram& histogram,
                     BinaryEncoder& unused, FittedLevel<S>& fitted) {
  const int cls = parity_classes_of(source.level(l).split_mask()).mask[c];
  const ClassParameters& p = fitted.parameters[cls];
  int mean = p.mean;
  for (size_t r = 0; r < fitted.refinements.size(); r++) {
    FittedRefinement& refinement = fitted.refinements[r];
    if (!refinement.any()) continue;
    ClassParameters& q = refinement.parameters[cls];
    for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) {
      if (c == 0 && box.refined_context.empty()) {
        box.refined_context.resize(fitted.refinements.size());
        start_refined_activities(box.work, fitted.refinements.size());
      }
      refined_contexts(box.work, r, cls, p, box.refined_context[r][size_t(cls)]);
    });
    const AddedBits of_class = refinement.added_to(p);
    fitted.bits += fit_refined_models(source, so_far.refined[r], fitted.boxes, l, cls, r, refinement, of_class, histogram, q);
    write_refined_class(unused, so_far.refined[r], source.parameter_context(l), of_class, q);
    mean = refined_mean(mean, refinement.before - refinement.after, q.mean);
    for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) { refine_activities(box.work, r, cls, refinement.after, mean); });
  }
}

}  // namespace

template <class S>
FittedLevel<S> fit_level(const LevelSource<S>& source, const LevelState<S>& state, size_t l, int threads) {
  STZ_STAGE(fit);
  const Level& level = source.level(l);
  FittedLevel<S> fitted;
  fitted.exact = level.samples() * source.batch() <= exact_samples;
  fitted.boxes = fitted.exact ? all_blocks(source, l) : sample_boxes(source, l, source.effort().boxed_samples);
  Team team(std::min(threads, most_box_tasks));
  for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) {
    prepare_box(source, whole_item(source, state, l, box.item), l, box.item, box.place, widest_stencil(level), box.work);
  });
  fit_boxes(source, state.parameters, l, team, fitted);
  return fitted;
}

template <class S>
void fit_boxes(const LevelSource<S>& source, const ParameterState& coarser, size_t l, Team& team, FittedLevel<S>& fitted) {
  const ParityClasses classes = parity_classes_of(source.level(l).split_mask());
  PredictionFits<S> fits(source, fitted.boxes, l, fitted.exact, widest_stencil(source.level(l)));
  ParameterState so_far = coarser;
  ParameterModels models = fresh<ParameterModels>;
  BinaryEncoder unused;
  CodeHistogram histogram;
  const int unknown_bits = source.header().layers.unknown_bits(l);
  fitted.refinements = refinements_of(source.header().layers, l);
  so_far.refined.resize(fitted.refinements.size());
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    ClassParameters& p = fitted.parameters[cls];
    p = fits.fit(so_far, cls);
    p.unknown_bits = unknown_bits;
    // the coarser level tells what codes to expect: half as large ones, as a rule
    bool as_bytes = so_far.has_coarser[cls] && may_use_byte_indices(source.quantizer(l), whole_mean(so_far.coarser[cls]) - 4);
    for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) {
      if (c > 0) class_activities(box.work, classes.mask[c - 1], fitted.parameters[classes.mask[c - 1]].mean);
      class_contexts(box.work, cls, p, box.context[cls]);
    });
    if (source.parameter_context(l).with_feedback && source.effort().feedback_trials > 1) {
      const FeedbackFit feedback = fit_feedback(fitted.boxes, cls, p, feedback_options(source, l, cls, as_bytes), team);
      p.feedback = feedback.parameters;
      as_bytes = feedback.as_bytes;
    }
    for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) {
      code_class(source, l, cls, p, as_bytes, box.work);
      leave_out_bits(p, cls, box.work);
    });
    fitted.bits += fitted.class_bits[cls] = fit_models(source, so_far, fitted.boxes, fitted.exact, l, cls, histogram, p);
    write_class(unused, models, so_far, cls, source.parameter_context(l), p);  // what later classes build on
    fit_refinements(source, so_far, l, c, team, histogram, unused, fitted);
  }
  // those of the last class, which a sample has no use for; where all split axes have an offset a level may have no class at all
  if (fitted.exact && classes.count) {
    const int last = classes.mask[classes.count - 1];
    for_boxes(fitted.boxes, team, [&](SampledBox<S>& box) { class_activities(box.work, last, fitted.parameters[last].mean); });
  }
}

#define STZ_INSTANTIATE(S)                                                                     \
  template FittedLevel<S> fit_level(const LevelSource<S>&, const LevelState<S>&, size_t, int); \
  template void fit_boxes(const LevelSource<S>&, const ParameterState&, size_t, Team&, FittedLevel<S>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
