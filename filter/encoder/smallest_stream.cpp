#include "encoder/smallest_stream.h"

#include "base/faults.h"
#include "encoder/add_remainders.h"
#include "encoder/make_stream.h"
#include "encoder/plan/effort.h"
#include "encoder/represent/choose_range.h"
#include "encoder/represent/find_palette.h"
#include "encoder/represent/find_slice_grids.h"
#include "encoder/represent/floating_array.h"
#include "encoder/represent/predictability.h"
#include "format/palette.h"

namespace stz {
namespace {

// Integers with at least this bound are coded as real numbers and rounded, which is faster.
constexpr u64 least_rounded_bound = 2;

// A plan with ranks of distinct values, which is lossless. None if there are too many values or it cannot become shorter than `best`, the
// size of the smallest stream so far.
template <class S>
std::optional<Plan<float>> palette(const Header& h, const StreamRequest& request, const S* samples, u64 n,
                                   const std::shared_ptr<const Masks>& m, const Resolution& others, double best) {
  if (effort_of(request.effort).palette == Trials::none) return {};
  const u64 so_far = best == 0 ? array_bytes(h.layout) : u64(best);
  auto found = find_palette(h.layout.dtype, samples, m->specials_or_null(), n, others, so_far / 64);
  if (!found) return {};
  STZ_FAULT_POINT(palette, found->bits.data(), found->bits.size() * sizeof(u64));
  STZ_FAULT_POINT(ranks, found->ranks.data(), found->ranks.size() * sizeof(float));
  Bytes table = write_palette(h.layout.dtype, found->bits);
  if (table.empty()) return {};
  Header p = h;
  p.sample = SampleType::f32;
  p.quantizer = QuantizerKind::integer;
  p.transform = Transform::palette;
  p.step = 1;
  p.palette_count = found->bits.size();
  p.palette_size = table.size();
  p.palette = std::make_shared<const std::vector<u64>>(std::move(found->bits));
  Plan<float> plan(p, request, found->ranks.data(), m, 0.5);
  plan.own = std::move(found->ranks);
  plan.palette = std::move(table);
  plan.without_layers();  // an approximate rank would be another value
  return plan;
}

double power_of_two_below(double v) { return bit_cast_to<double>(bit_cast_to<u64>(v) >> 52 << 52); }

// Replaces `best` by the stream of a plan, if there is one and it is smaller.
template <class Out, class S>
void try_plan(Out& best, const std::optional<Plan<S>>& plan) {
  if (plan) keep_smaller(best, make_stream<Out>(*plan));
}

// For a point-wise relative bound: the first possible representation, or a palette.
template <class Out, class S>
Out relative_stream(const FloatingArray<S>& array, const StreamRequest& request) {
  const Header& h = array.header();
  Out best;
  try_plan(best, array.logarithmic());
  if (best.empty()) try_plan(best, array.ulp_steps());
  if (best.empty()) best = make_stream<Out>(array.lossless());
  try_plan(best, palette(h, request, array.samples(), array.count(), array.masks(), {0, 2 * h.bound}, best.size()));
  return best;
}

// Adds the stream with remainders to `best`, if a few samples promise that it is smaller than the numbers in ULP space. `exact`: makes
// the latter.
template <class Out, class F>
void keep_smallest_exact(Out& best, const Array& a, const Header& h, const StreamRequest& request, F exact) {
  constexpr double equal_numbers = 5;  // mean size of numbers that are often predicted exactly
  constexpr double near = 1, sure = 3;
  constexpr int finer = 2;  // the step is the median difference, divided by 4 to 8
  const Predictability p = predictability_of(a);
  const bool possible = h.mode == STZ_LOSSLESS && request.layers <= 1 && a.width >= 4 && p.units < 64 && p.median > 0 &&
                        p.places >= equal_numbers && p.places >= 0.75 * p.units;
  const double gain = possible ? p.bits_in_ulps() - p.bits_with_remainders() : -near;
  const bool both = request.effort > default_effort || gain < sure;
  if (both || !best.empty()) keep_smaller(best, exact());
  if (gain <= -near) return;
  Out cut = stream_with_remainders<Out>(a, h, request, power_of_two_below(p.median) / double(1 << finer));
  if (best.empty() && cut.empty()) best = exact();
  if (best.empty() || cut.size() < worthwhile_share * best.size()) keep_smaller(best, std::move(cut));
}

template <class Out, class S>
Out fixed_point_stream(const FloatingArray<S>& array, const typename FloatingArray<S>::FixedPoint& grid) {
  return grid.fits_float ? make_stream<Out>(array.template as_fixed_point<float>(grid))
                         : make_stream<Out>(array.template as_fixed_point<double>(grid));
}

// What readers before 1.1 do not have.
template <class Out>
struct IntegerStream {
  Out stream;
  bool few_bits;
  double step;
};

// Decimals, or numbers on grids of their slices. Nothing if they are neither.
template <class Out, class S>
std::optional<IntegerStream<Out>> stream_of_integers(const FloatingArray<S>& array, const Array& a, const Header& h,
                                                     const StreamRequest& request) {
  if (h.mode != STZ_LOSSLESS || request.layers > 1 || !request.unknown_bits.empty()) return {};
  if (const auto decimals = array.decimals())
    return IntegerStream<Out>{fixed_point_stream<Out>(array, *decimals), decimals->few_bits, decimals->step};
  const auto sliced = find_slice_grids(a, h);
  if (!sliced) return {};
  const Array integers{a.layout, sliced->elements.data()};
  const FloatingArray<S> numbers(integers, h, request);
  const auto found = numbers.on_slice_grids(sliced->slices, sliced->exceptions);
  return IntegerStream<Out>{fixed_point_stream<Out>(numbers, found), found.few_bits, 0};
}

template <class Out, class S>
Out floating_stream(const Array& a, const Header& without_masks, const StreamRequest& request) {
  const FloatingArray<S> array(a, without_masks, request);
  const Header& h = array.header();
  if (h.mode == STZ_POINTWISE_RELATIVE) return relative_stream<Out>(array, request);
  Out best;
  double step = 2 * h.bound;
  bool exact_done = false;
  const auto exact = [&] { keep_smallest_exact(best, a, without_masks, request, [&] { return make_stream<Out>(array.lossless()); }); };
  if (const auto grid = array.fixed_point()) {
    best = fixed_point_stream<Out>(array, *grid);
    step = std::max(step, grid->step);
  } else if (auto integers = stream_of_integers<Out>(array, a, without_masks, request)) {
    step = integers->step;
    if (!integers->few_bits) exact();
    if (best.empty() || integers->stream.size() < worthwhile_share * best.size()) best = std::move(integers->stream);
    exact_done = true;
  }
  if (h.mode == STZ_ABSOLUTE && h.bound > 0.5 * array.ulp()) keep_smaller(best, make_stream<Out>(array.uniform()));
  if (best.empty() || (h.bound < 8 * array.ulp() && !exact_done)) exact();
  try_plan(best, palette(h, request, array.samples(), array.count(), array.masks(), {step, 0}, best.size()));
  return best;
}

template <class Out, class S>
Out integer_stream(const Array& a, Header h, const StreamRequest& request) {
  const auto masks = std::make_shared<const Masks>(find_masks(a, h, masks_zeros(h, request)));
  Buffer<S> samples = load_samples<S>(a, h, *masks);
  STZ_FAULT_POINT(samples, samples.data(), samples.size() * sizeof(S));
  h.sample = sizeof(S) == 4 ? SampleType::f32 : std::is_floating_point_v<S> ? SampleType::f64 : SampleType::i64;
  const u64 units = h.mode == STZ_ABSOLUTE ? u64(std::min(h.bound, 1e18)) : 0;
  h.range = choose_range(h, request, samples.data(), masks->specials_or_null(), samples.size());
  h.quantizer = QuantizerKind::integer;
  h.step = 2 * units + 1;
  Header numbers = h;
  if (std::is_floating_point_v<S> && units >= least_rounded_bound) {
    numbers.quantizer = QuantizerKind::uniform;
    numbers.step = 1;
    numbers.half_step = sample_bound(h) - 1.0 / 128;  // leaves room for the rounding of samples
  }
  Out best = make_stream<Out>(Plan<S>(numbers, request, samples.data(), masks, 0.5 * double(h.step)));
  try_plan(best, palette(h, request, samples.data(), samples.size(), masks, {double(h.step), 0}, best.size()));
  return best;
}

}  // namespace

template <class Out>
Out smallest_stream(const Array& a, const Header& h, const StreamRequest& request) {
  switch (a.layout.dtype) {
    case STZ_F16:
    case STZ_BF16:
    case STZ_F8_E4M3:
    case STZ_F8_E5M2:
    case STZ_F32:
    case STZ_C64:
      return floating_stream<Out, float>(a, h, request);
    case STZ_F64:
    case STZ_C128:
      return floating_stream<Out, double>(a, h, request);
    case STZ_I32:
    case STZ_U32:
      return integer_stream<Out, double>(a, h, request);
    case STZ_I64:
    case STZ_U64:
      return integer_stream<Out, i64>(a, h, request);
    default:
      return integer_stream<Out, float>(a, h, request);
  }
}

template Stream smallest_stream(const Array&, const Header&, const StreamRequest&);
template SizeEstimate smallest_stream(const Array&, const Header&, const StreamRequest&);

}  // namespace stz
