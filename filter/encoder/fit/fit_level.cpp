#include "encoder/fit/fit_level.h"

#include <algorithm>

#include "base/stages.h"
#include "encoder/block/encode_block.h"
#include "encoder/block/split_codes.h"
#include "encoder/fit/choose_models.h"
#include "encoder/fit/fit_feedback.h"
#include "encoder/fit/prediction_fits.h"

namespace stz {
namespace {

// Levels with at most this many samples are fitted to all of them. Fuzzing and fault tests use small arrays, and must reach the path of
// large ones too.
#if defined(STZ_FUZZING) || defined(STZ_FAULTS)
constexpr u64 exact_samples = 1u << 11;
#else
constexpr u64 exact_samples = 1u << 20;
#endif
constexpr u64 modelled_samples = 1 << 14;  // samples of a class for its mean and models
constexpr int modelled_run = 64;

// Counts codes of a class in the boxes, whose contexts are known; up to `want` of them for its mean and models.
template <class S>
const ClassHistogram& count_codes(const std::vector<SampledBox<S>>& boxes, int cls, u64 want, CodeHistogram& histogram) {
  STZ_STAGE(count_codes);
  histogram.clear();
  u64 samples = 0;
  for (const SampledBox<S>& box : boxes) samples += box.work.geometry.samples(cls);
  // Take pieces of equal length, one at a pseudo-random place in each of as many equal parts.
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

// Finds the mean |code| of a class and its models. Returns its size in bits. Large classes are judged by some of their codes.
template <class S>
double fit_models(const LevelSource<S>& source, const ParameterState& state, std::vector<SampledBox<S>>& boxes, bool exact, size_t l,
                  int cls, CodeHistogram& counted, ClassParameters& p) {
  using Code = CodeOf<S>;
  const ClassHistogram& histogram = count_codes(boxes, cls, modelled_samples, counted);
  u64 sum = 0, count = 0;
  add_up<Code>(histogram, sum, count);
  // A few nonzero codes are not representative.
  if (sum < modelled_samples / 2 && count >= modelled_samples / 2) {
    count_codes(boxes, cls, 8 * modelled_samples, counted);
    sum = count = 0;
    add_up<Code>(histogram, sum, count);
  }
  p.mean = mean_index(sum, count);
  // A sample may miss rare codes, and an outlier needs a code. So the mean is 0 only if all codes are known to be zero.
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

// The same for what a refinement adds to zero codes. The bits that it adds to other codes need no model.
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

// The refinements of a level, from the header.
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

// Fits what refinements add to the c-th class, which is coded already. `so_far`: the parameters that they build on.
template <class S>
void fit_refinements(const LevelSource<S>& source, ParameterState& so_far, size_t l, int c, int threads, CodeHistogram& histogram,
                     BinaryEncoder& unused, FittedLevel<S>& fitted) {
  const int cls = parity_classes_of(source.level(l).split_mask()).mask[c];
  const ClassParameters& p = fitted.parameters[cls];
  int mean = p.mean;
  for (size_t r = 0; r < fitted.refinements.size(); r++) {
    FittedRefinement& refinement = fitted.refinements[r];
    if (!refinement.any()) continue;
    ClassParameters& q = refinement.parameters[cls];
    for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) {
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
    for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) { refine_activities(box.work, r, cls, refinement.after, mean); });
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
  for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) {
    prepare_box(source, whole_item(source, state, l, box.item), l, box.item, box.place, widest_stencil(level), box.work);
  });
  fit_boxes(source, state.parameters, l, threads, fitted);
  return fitted;
}

template <class S>
void fit_boxes(const LevelSource<S>& source, const ParameterState& coarser, size_t l, int threads, FittedLevel<S>& fitted) {
  const ParityClasses classes = parity_classes_of(source.level(l).split_mask());
  PredictionFits<S> fits(source, fitted.boxes, l, fitted.exact, widest_stencil(source.level(l)));
  ParameterState so_far = coarser;
  ParameterModels models = fresh<ParameterModels>;
  BinaryEncoder unused;
  CodeHistogram histogram;
  const int unknown_bits = source.header().layers.unknown_bits(l);
  fitted.refinements = refinements_of(source.header().layers, l);
  so_far.refined.resize(fitted.refinements.size());
  const std::vector<const LearnedLevel*> learned = source.learned(l);
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    ClassParameters& p = fitted.parameters[cls];
    // The coarser level tells how large codes will be: usually half as large as its own.
    bool& as_bytes = fitted.as_bytes[cls];
    as_bytes = so_far.has_coarser[cls] && may_use_byte_indices(source.quantizer(l), whole_mean(so_far.coarser[cls]) - 4);
    p = learned.empty() ? fits.fit(so_far, cls) : fits.choose(so_far, cls, learned, as_bytes);
    p.unknown_bits = unknown_bits;
    for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) {
      if (c > 0) class_activities(box.work, classes.mask[c - 1], fitted.parameters[classes.mask[c - 1]].mean);
      class_contexts(box.work, cls, p, box.context[cls]);
    });
    if (learned.empty() && source.parameter_context(l).with_feedback && source.effort().feedback_trials > 1) {
      const FeedbackFit feedback = fit_feedback(fitted.boxes, cls, p, feedback_options(source, l, cls, as_bytes), threads);
      p.feedback = feedback.parameters;
      as_bytes = feedback.as_bytes;
    }
    for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) {
      code_class(source, l, cls, p, as_bytes, box.work);
      leave_out_bits(p, cls, box.work);
    });
    fitted.bits += fitted.class_bits[cls] = fit_models(source, so_far, fitted.boxes, fitted.exact, l, cls, histogram, p);
    write_class(unused, models, so_far, cls, source.parameter_context(l), p);  // later classes build on these parameters
    fit_refinements(source, so_far, l, c, threads, histogram, unused, fitted);
  }
  // The activities of the last class, which are not needed for samples. If all split axes have an offset, a level may have no class.
  if (fitted.exact && classes.count) {
    const int last = classes.mask[classes.count - 1];
    for_boxes(fitted.boxes, threads, [&](SampledBox<S>& box) { class_activities(box.work, last, fitted.parameters[last].mean); });
  }
}

#define STZ_INSTANTIATE(S)                                                                     \
  template FittedLevel<S> fit_level(const LevelSource<S>&, const LevelState<S>&, size_t, int); \
  template void fit_boxes(const LevelSource<S>&, const ParameterState&, size_t, int, FittedLevel<S>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
