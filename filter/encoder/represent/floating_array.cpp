#include "encoder/represent/floating_array.h"

#include "base/faults.h"
#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "encoder/represent/choose_range.h"
#include "encoder/represent/dead_zone.h"
#include "encoder/represent/find_decimals.h"
#include "encoder/represent/fixed_point.h"
#include "format/logarithm.h"
#include "format/sample_order.h"

namespace stz {
namespace {

// The distance between adjacent numbers of the dtype near v.
double unit_in_last_place(double v, i32 dtype) {
  if (v == 0) return 0;
  const FloatFormat format = float_format(dtype);
  const int exponent = int(bit_cast_to<u64>(v) >> 52 & 0x7ff) - 1023;  // -1023 for subnormal numbers, which are then at `smallest`
  const int e = std::max(format.smallest(), exponent - format.mantissa_bits);
  return e >= -1022 ? bit_cast_to<double>(u64(e + 1023) << 52) : bit_cast_to<double>(u64(1) << (e + 1074));
}

// The lowest mantissa bits that are zero in every valid sample: numbers of a shorter type, or with few binary digits.
template <class S>
int zero_bits_of(const S* samples, u64 n, const Masks& m) {
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  Bits any = 0;
  if (m.specials.empty())
    for (u64 i = 0; i < n; i++) any |= bit_cast_to<Bits>(samples[i]);
  else
    for (u64 i = 0; i < n; i++) any |= m.specials[i] ? Bits(0) : bit_cast_to<Bits>(samples[i]);
  const int mantissa = sizeof(S) == 4 ? 23 : 52;
  return std::min(mantissa - 1, any ? __builtin_ctzll(u64(any)) : 0);
}

// Whether neighbours say nothing about a sample: their mean is hardly nearer to it than any other sample is. Finer bounds for coarser
// levels then only take bytes. A few hundred samples of the first item are looked at; most arrays are ruled out by the first of them.
template <class S>
bool is_unpredictable(const Plan<S>& plan) {
  constexpr u64 fewest_samples = 1 << 14;  // in smaller arrays, the list of bounds is a notable share
  constexpr int places = 512, first_places = 32;
  constexpr double like_mean = 0.866;         // of independent numbers, the distance of two over that of one from the mean of two
  constexpr double near = 0.25, clearly = 1;  // bits
  constexpr double fewest_bits = 0.5, near_share = 0.9;  // where most samples are within the bound
  const Index n = hierarchy_of(plan.header).n, stride = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  const u64 samples = u64(n[0] * stride[0]);
  if (samples < fewest_samples || plan.specials()) return false;
  const auto bits = [&](double difference) { return rough_log2(1 + std::min(__builtin_fabs(difference) / plan.unit, 1e15)); };
  double of_pairs = 0, of_axis[axes] = {};
  u64 seed = 3;
  for (int k = 1; k <= places; k++) {
    i64 at = 0;
    for (size_t a = 0; a < axes; a++) at += stride[a] * (n[a] > 2 ? 1 + i64(pseudo_random(seed) % u64(n[a] - 2)) : 0);
    const S* const x = plan.samples + at;
    of_pairs += bits(like_mean * (double(*x) - double(plan.samples[pseudo_random(seed) % samples])));
    double least = 1e300;
    for (size_t a = 0; a < axes; a++) {
      if (n[a] <= 2) continue;
      of_axis[a] += bits(double(*x) - 0.5 * (double(x[-stride[a]]) + double(x[stride[a]])));
      least = std::min(least, of_axis[a]);
    }
    if (k == first_places && least < of_pairs - clearly * k) return false;
    if (k == places) return of_pairs > fewest_bits * k && least > of_pairs - near * k && least > near_share * of_pairs && least < 1e300;
  }
  return false;
}

}  // namespace

template <class S>
FloatingArray<S>::FloatingArray(const Array& a, const Header& h, const StreamRequest& request)
    : a_(a), request_(request), header_(h), valid_(valid_elements(h)), n_(valid_ * u64(a.parts)) {
  header_.sample = sizeof(S) == 4 ? SampleType::f32 : SampleType::f64;
  double largest = 0;  // magnitude
  const bool zeros = masks_zeros(header_, request);
  samples_ = plain_samples<S>(a, header_, zeros, request.threads, loaded_, largest);
  if (!samples_) {
    masks_ = std::make_shared<const Masks>(find_masks(a, header_, zeros));
    loaded_ = load_samples<S>(a, header_, *masks_, &largest);
    samples_ = loaded_.data();
  }
  STZ_FAULT_POINT(samples, loaded_.data(), loaded_.size() * sizeof(S));
  STZ_FAULT_POINT(scan, &largest, sizeof largest);
  ulp_ = unit_in_last_place(largest, a.layout.dtype);
  header_.range = choose_range(header_, request, samples_, masks_->specials_or_null(), n_);
}

template <class S>
Plan<S> FloatingArray<S>::uniform() const {
  Header u = header_;
  u.quantizer = QuantizerKind::uniform;
  // Rounding to the type takes up to half an ulp of the bound. A smaller step is better than storing such samples as outliers.
  u.half_step = ulp_ * 0.5 > 0.02 * u.bound ? u.bound - 0.5 * ulp_ : u.bound;
  if (u.half_step < 0.1 * u.bound) u.half_step = u.bound;
  const bool dead_zone = request_.dead_zone && u.half_step > 16 * ulp_;
  if (dead_zone) u.half_step = half_step_with_dead_zone(u.half_step);
  Plan<S> plan(u, request_, samples_, masks_, u.half_step);
  plan.dead_zone = dead_zone;
  if (plan.layers <= 1 && plan.unknown_bits.empty() && is_unpredictable(plan)) plan.level_ratio = equal_levels;
  return plan;
}

template <class S>
Plan<S> FloatingArray<S>::multiples(const Remainders& remainders) const {
  Header m = header_;
  m.quantizer = QuantizerKind::uniform;
  m.remainders = remainders;
  m.half_step = remainders.step * remainder_half_step;
  Plan<S> plan(m, request_, samples_, masks_, m.half_step);
  plan.without_layers();
  return plan;
}

template <class S>
Plan<S> FloatingArray<S>::lossless() const {
  Header o = header_;
  o.step = 1;
  if (is_short_float(a_.layout.dtype)) {
    o.quantizer = QuantizerKind::integer;
    o.transform = Transform::ulp_short;
    return {o, request_, load_samples<S>(a_, o, *masks_), masks_, 0.5};
  }
  o.quantizer = QuantizerKind::ulp;
  o.zero_bits = zero_bits_of(samples_, n_, *masks_);
  return {o, request_, samples_, masks_, ulp_};
}

template <class S>
std::optional<Plan<S>> FloatingArray<S>::ulp_steps() const {
  Header o = header_;
  const double ulps = o.bound * (sizeof(S) == 4 ? 8388608.0 : 4503599627370496.0);
  if (is_short_float(a_.layout.dtype) || ulps < 1) return {};
  o.quantizer = QuantizerKind::ulp;
  o.step = 2 * u64(std::min(ulps, sizeof(S) == 4 ? 1e9 : 1e18)) + 1;
  return Plan<S>(o, request_, samples_, masks_, ulp_ * double(o.step));
}

// Masks zeros, numbers whose own ulp exceeds the bound, and numbers that would be decoded to the fill value. Finds the signs of the others.
template <class S>
Masks FloatingArray<S>::masks_of_logarithms(const Header& l, bool& positive, bool& negative) const {
  const double smallest = bit_cast_to<double>(u64(float_format(a_.layout.dtype).smallest_normal() + 1023) << 52);
  const double fill = l.has_fill ? number_of(a_.layout.dtype, l.fill) : 0, next_to_fill = __builtin_fabs(fill) * 2e-12;
  Masks masks = *masks_;
  if (masks.specials.empty()) masks.specials.resize(n_);
  for (int part = 0; part < a_.parts; part++)
    for_valid(l, [&](u64 number, u64 element) {
      const u64 at = u64(part) * valid_ + number;
      if (masks.specials[at]) return;
      double v = double(samples_[at]);
      if (__builtin_fabs(v) < 2 * smallest || __builtin_fabs(v - fill) <= next_to_fill) {
        u64 bits = a_.bits(element, part);
        masks.specials[at] = bits == 0 ? special_zero : special_literal;
        if (bits) masks.literals.push_back({at, bits});
      } else if (v > 0)
        positive = true;
      else
        negative = true;
    });
  sort_literals(masks.literals);
  return masks;
}

template <class S>
std::optional<Plan<double>> FloatingArray<S>::logarithmic() const {
  Header l = header_;
  l.half_step = octave_bound(l.bound, mantissa_bits(a_.layout.dtype));
  if (l.half_step == 0) return {};
  bool positive = false, negative = false;
  Masks masks = masks_of_logarithms(l, positive, negative);
  if (positive && negative) return {};
  l.masked = std::any_of(masks.specials.begin(), masks.specials.end(), [](u8 k) { return k != 0; });
  if (!l.masked) masks.specials.clear();
  l.quantizer = QuantizerKind::uniform;
  l.transform = Transform::logarithmic;
  l.negative = negative;
  l.sample = SampleType::f64;
  Buffer<double> octaves = load_samples<double>(a_, l, masks);
  return Plan<double>(l, request_, std::move(octaves), std::make_shared<const Masks>(std::move(masks)), l.half_step);
}

template <class S>
std::optional<typename FloatingArray<S>::FixedPoint> FloatingArray<S>::fixed_point() const {
  if (is_short_float(a_.layout.dtype)) return {};
  const auto grid = find_fixed_point_grid(header_, samples_, masks_->specials_or_null(), n_);
  if (!grid || grid->largest >= i64(1) << 50) return {};
  FixedPoint found{header_, false, 0, masks_};
  Header& l = found.header;
  l.quantizer = QuantizerKind::integer;
  l.transform = Transform::fixed_point;
  l.origin = grid->origin;
  l.delta = grid->delta;
  // Steps of 2 m + 1 fixed-point units have errors of m units, plus the rounding of k * delta, of the sum, of x and of x' (which may be an
  // octave higher).
  const double units = l.mode == STZ_ABSOLUTE ? (l.bound - 4 * ulp_) / grid->delta : 0;
  if (units > 7.5) return {};
  l.step = 2 * u64(std::max(0.0, units)) + 1;
  found.step = double(l.step) * grid->delta;
  found.fits_float = grid->largest < i64(1) << 21;
  l.sample = found.fits_float ? SampleType::f32 : SampleType::f64;
  return found;
}

// The masks with further samples, which become literal elements.
template <class S>
std::shared_ptr<const Masks> FloatingArray<S>::with_literals(const std::vector<u64>& samples) const {
  if (samples.empty()) return masks_;
  Masks masks = *masks_;
  if (masks.specials.empty()) masks.specials.resize(n_);
  const SampleOrder order(header_);
  for (u64 at : samples) {
    const u64 bits = a_.bits(order.element_of(at % valid_), int(at / valid_));
    masks.specials[at] = special_literal;
    masks.literals.push_back({at, bits});
  }
  sort_literals(masks.literals);
  return std::make_shared<const Masks>(std::move(masks));
}

template <class S>
std::optional<typename FloatingArray<S>::FixedPoint> FloatingArray<S>::decimals() const {
  if (is_short_float(a_.layout.dtype)) return {};
  const auto decimals = find_decimals(samples_, masks_->specials_or_null(), n_);
  if (!decimals) return {};
  FixedPoint found{header_, false, 0, with_literals(decimals->exceptions)};
  set_integers(found, decimals->largest);
  found.header.decimals = decimals->decimals;
  found.header.masked = !found.masks->specials.empty();
  if (decimals->decimals.kind == Decimals::fixed) found.step = 1 / power_of_ten(decimals->decimals.digits);
  return found;
}

template <class S>
typename FloatingArray<S>::FixedPoint FloatingArray<S>::on_slice_grids(const SliceGrids& slices, const std::vector<u64>& exceptions) const {
  std::vector<u64> others;  // samples
  if (!exceptions.empty()) {
    const SampleOrder order(header_);
    std::vector<bool> is_other(a_.elements);
    for (u64 element : exceptions) is_other[element] = true;
    for (u64 i = 0; i < n_; i++)
      if (is_other[order.element_of(i)]) others.push_back(i);
  }
  FixedPoint found{header_, false, 0, with_literals(others)};
  const u8* const specials = found.masks->specials_or_null();
  found.header.masked = specials != nullptr;
  double largest = 0;
  for (u64 i = 0; i < n_; i++)
    if (!(specials && specials[i])) largest = std::max(largest, __builtin_fabs(double(samples_[i])));
  set_integers(found, i64(largest));
  found.header.slices = slices;
  return found;
}

// What is the same in all exact representations by integers.
template <class S>
void FloatingArray<S>::set_integers(FixedPoint& found, i64 largest) const {
  constexpr int few = 5;
  found.fits_float = largest < i64(1) << 21;
  found.few_bits = floor_log2(u64(largest) + 1) <= mantissa_bits(a_.layout.dtype) - few;
  Header& l = found.header;
  l.quantizer = QuantizerKind::integer;
  l.transform = Transform::fixed_point;
  l.delta = 1;
  l.step = 1;
  l.sample = found.fits_float ? SampleType::f32 : SampleType::f64;
}

template <class S>
template <class T>
Plan<T> FloatingArray<S>::as_fixed_point(const FixedPoint& grid) const {
  return {grid.header, request_, load_samples<T>(a_, grid.header, *grid.masks), grid.masks, 0.5 * double(grid.header.step)};
}

template class FloatingArray<float>;
template class FloatingArray<double>;
template Plan<float> FloatingArray<float>::as_fixed_point(const FixedPoint&) const;
template Plan<double> FloatingArray<float>::as_fixed_point(const FixedPoint&) const;
template Plan<float> FloatingArray<double>::as_fixed_point(const FixedPoint&) const;
template Plan<double> FloatingArray<double>::as_fixed_point(const FixedPoint&) const;

}  // namespace stz
