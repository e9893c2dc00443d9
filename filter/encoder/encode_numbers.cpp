#include "encoder/encode_numbers.h"

#include "base/faults.h"
#include "encoder/axis_schedule.h"
#include "encoder/dead_zone.h"
#include "encoder/effort.h"
#include "encoder/find_palette.h"
#include "encoder/fixed_point.h"
#include "encoder/try_edge.h"
#include "format/content_check.h"
#include "format/logarithm.h"
#include "format/palette.h"

namespace stz {
namespace {

constexpr double unasked_share = 300;   // of a stream is what a content check takes at most that nobody has asked for
constexpr u64 least_rounded_bound = 2;  // of integers, from where on they are coded as numbers between them, which is faster

// Empty if the format cannot hold it. `palette`: its section.
template <class S>
Encoded encode_blocks(Header h, const S* samples, const Masks& m, double unit, int threads, const Bytes& palette = {}) {
  h.form = Form::blocks;
  // Where samples have to become elements first, or lie among special values, a content check costs more time than is taken unasked.
  const bool unasked = h.content_check == STZ_CONTENT_CHECK_DEFAULT;
  if (unasked) h.content_check = samples_are_elements<S>(h) && !m.specials_or_null() ? STZ_CONTENT_CHECK_WRITE : STZ_CONTENT_CHECK_NONE;
  Encoded out = encode_with_axis_schedule<S>(h, samples, m.specials_or_null(), m.literals, unit, threads);
  try_edge_mode<S>(h, samples, m.specials_or_null(), m.literals, unit, threads, out);
  if (out.empty()) return out;
  Bytes trailer;
  if (h.estimate) h.content_checks.resize(checked_blocks(hierarchy_of(h)));
  if (h.content_check == STZ_CONTENT_CHECK_WRITE) trailer = write_trailer(h.content_checks);
  if (unasked && double(trailer.size()) > out.size() / unasked_share) trailer.clear();
  h.trailer_size = trailer.size();
  STZ_FAULT_POINT(header_fields, &h.half_step, sizeof h.half_step);
  STZ_FAULT_POINT(header_fields, &h.bound, sizeof h.bound);
  STZ_FAULT_POINT(header_fields, &h.origin, sizeof h.origin);
  STZ_FAULT_POINT(header_fields, &h.delta, sizeof h.delta);
  STZ_FAULT_POINT(header_fields, &h.nan_bits, component_size(h.layout.dtype));
  STZ_FAULT_POINT(header_fields, &h.padding, component_size(h.layout.dtype));
  STZ_FAULT_POINT(header_fields, &h.fill, component_size(h.layout.dtype));
  Bytes front = write_header(h);  // knows the sections
  front.insert(front.end(), palette.begin(), palette.end());
  if (h.estimate) {
    out.expected = out.size() + double(front.size() + trailer.size());
    out.bytes.clear();
    return out;
  }
  out.bytes.insert(out.bytes.begin(), front.begin(), front.end());
  out.bytes.insert(out.bytes.end(), trailer.begin(), trailer.end());
  return out;
}

void keep_smaller(Encoded& best, Encoded candidate) {
  if (best.empty() || (!candidate.empty() && candidate.size() < best.size())) best = std::move(candidate);
}

// Ranks among the distinct values, if these are few and `best`, what there is so far, may be longer. They keep every bit.
template <class S>
Encoded encode_palette(Header p, const S* samples, u64 n, const Masks& m, const Resolution& others, const Encoded& best, int threads) {
  if (effort_of(p.effort).palette == Trials::none) return {};
  const u64 so_far = best.empty() ? array_bytes(p.layout) : u64(best.size());
  const auto found = find_palette(p.layout.dtype, samples, m.specials_or_null(), n, others, so_far / 64);
  if (!found) return {};
  STZ_FAULT_POINT(palette, found->bits.data(), found->bits.size() * sizeof(u64));
  STZ_FAULT_POINT(ranks, found->ranks.data(), found->ranks.size() * sizeof(float));
  const Bytes table = write_palette(p.layout.dtype, found->bits);
  if (table.empty()) return {};
  p.sample = SampleType::f32;
  p.quantizer = QuantizerKind::integer;
  p.transform = Transform::palette;
  p.wanted_layers = 1;  // a rank that is nearly right is another value
  p.wanted_unknown_bits.clear();
  p.step = 1;
  p.palette_count = found->bits.size();
  p.palette_size = table.size();
  p.palette = std::make_shared<const std::vector<u64>>(found->bits);
  return encode_blocks(p, found->ranks.data(), m, 0.5, threads, table);
}

// Distance between numbers of the dtype near v.
double unit_in_last_place(double v, i32 dtype) {
  if (v == 0) return 0;
  const size_t width = component_size(dtype);
  const int mantissa = mantissa_bits(dtype), smallest = width == 2 ? -24 : width == 4 ? -149 : -1074;
  const int exponent = int(bit_cast_to<u64>(v) >> 52 & 0x7ff) - 1023;  // -1023 for subnormal numbers, which are then at `smallest`
  const int e = std::max(smallest, exponent - mantissa);
  return e >= -1022 ? bit_cast_to<double>(u64(e + 1023) << 52) : bit_cast_to<double>(u64(1) << (e + 1074));
}

// Low mantissa bits that are zero in every valid sample: numbers of a shorter type, or with few binary digits.
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

// Samples as floating-point numbers of one array, and the ways to code them.
template <class S>
struct Floating {
  const Array& a;
  const Header& h;
  const u64 valid, n;
  const int threads;
  Masks m;
  Buffer<S> loaded;
  double largest = 0;  // magnitude
  const S* samples;
  double ulp;  // of the largest magnitude

  Floating(const Array& array, const Header& header, int most_threads)
      : a(array),
        h(header),
        valid(valid_elements(header)),
        n(valid * u64(array.parts)),
        threads(most_threads),
        samples(plain_samples<S>(array, header, most_threads, loaded, largest)) {}

  void load(Header& header) {
    if (!samples) {
      m = find_masks(a, header);
      loaded = load_samples<S>(a, header, m, &largest);
      samples = loaded.data();
    }
    STZ_FAULT_POINT(samples, loaded.data(), loaded.size() * sizeof(S));
    STZ_FAULT_POINT(scan, &largest, sizeof largest);
    ulp = unit_in_last_place(largest, a.layout.dtype);
  }

  Encoded uniform(Header u) const {
    u.quantizer = QuantizerKind::uniform;
    // the cast eats up to half an ulp of the bound: shrink the step rather than store samples as outliers
    u.half_step = ulp * 0.5 > 0.02 * u.bound ? u.bound - 0.5 * ulp : u.bound;
    if (u.half_step < 0.1 * u.bound) u.half_step = u.bound;
    u.wide_zero &= u.half_step > 16 * ulp;
    if (u.wide_zero) u.half_step = half_step_with_dead_zone(u.half_step);
    return encode_blocks(u, samples, m, u.half_step, threads);
  }

  Encoded lossless(Header o) const {
    o.step = 1;
    if (a.layout.dtype == STZ_F16) {
      o.quantizer = QuantizerKind::integer;
      o.transform = Transform::ulp_float16;
      Buffer<S> integers = load_samples<S>(a, o, m);
      STZ_FAULT_POINT(samples, integers.data(), integers.size() * sizeof(S));
      return encode_blocks(o, integers.data(), m, 0.5, threads);
    }
    o.quantizer = QuantizerKind::ulp;
    o.zero_bits = zero_bits_of(samples, n, m);
    return encode_blocks(o, samples, m, ulp, threads);
  }

  // Empty if the numbers are on no fixed-point grid or one is of no use. `step`: between what it tells apart.
  Encoded fixed_point(const Header& header, double& step) const {
    if (a.layout.dtype == STZ_F16) return {};
    auto grid = find_fixed_point_grid(header, samples, m.specials_or_null(), n);
    if (!grid || grid->largest >= i64(1) << 50) return {};
    Header l = header;
    l.quantizer = QuantizerKind::integer;
    l.transform = Transform::fixed_point;
    l.origin = grid->origin;
    l.delta = grid->delta;
    // steps of 2 m + 1 fixed-point units err by m units and the rounding of k * delta and of the sum, of x and of x' (perhaps an octave
    // higher)
    double units = header.mode == STZ_ABSOLUTE ? (header.bound - 4 * ulp) / grid->delta : 0;
    if (units > 7.5) return {};
    l.step = 2 * u64(std::max(0.0, units)) + 1;
    step = double(l.step) * grid->delta;
    if (grid->largest < i64(1) << 21) return as_fixed_point<float>(l, SampleType::f32);
    return as_fixed_point<double>(l, SampleType::f64);
  }

  // Point-wise relative bounds of numbers of one sign; empty if there is no room for the bound.
  Encoded logarithmic(Header l) const {
    const size_t width = component_size(a.layout.dtype);
    l.half_step = octave_bound(l.bound, mantissa_bits(a.layout.dtype));
    if (l.half_step == 0) return {};
    const double smallest = width == 2 ? 6.103515625e-05 : width == 4 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
    const double fill = l.has_fill ? number_of(a.layout.dtype, l.fill) : 0, next_to_fill = __builtin_fabs(fill) * 2e-12;
    bool positive = false, negative = false;
    Masks masks = m;
    if (masks.specials.empty()) masks.specials.resize(n);
    for (int part = 0; part < a.parts; part++)
      for_valid(l, [&](u64 number, u64 element) {
        const u64 at = u64(part) * valid + number;
        if (masks.specials[at]) return;
        double v = double(samples[at]);
        // zeros, what is so small that its own ulp breaks the bound, and what would come back as the fill value
        if (__builtin_fabs(v) < 2 * smallest || __builtin_fabs(v - fill) <= next_to_fill) {
          u64 bits = a.bits(element, part);
          masks.specials[at] = bits == 0 ? special_zero : special_literal;
          if (bits) masks.literals.push_back({at, bits});
        } else if (v > 0)
          positive = true;
        else
          negative = true;
      });
    if (positive && negative) return {};
    std::sort(masks.literals.begin(), masks.literals.end(),
              [](const LiteralElement& x, const LiteralElement& y) { return x.index < y.index; });
    l.masked = std::any_of(masks.specials.begin(), masks.specials.end(), [](u8 k) { return k != 0; });
    if (!l.masked) masks.specials.clear();
    l.quantizer = QuantizerKind::uniform;
    l.transform = Transform::logarithmic;
    l.negative = negative;
    l.sample = SampleType::f64;
    Buffer<double> octaves = load_samples<double>(a, l, masks);
    STZ_FAULT_POINT(samples, octaves.data(), octaves.size() * sizeof(double));
    return encode_blocks(l, octaves.data(), masks, l.half_step, threads);
  }

  // Steps in ULP space: any signs.
  Encoded ulp_steps(Header o) const {
    const double ulps = o.bound * (sizeof(S) == 4 ? 8388608.0 : 4503599627370496.0);
    if (a.layout.dtype == STZ_F16 || ulps < 1) return {};
    o.quantizer = QuantizerKind::ulp;
    o.step = 2 * u64(std::min(ulps, sizeof(S) == 4 ? 1e9 : 1e18)) + 1;
    return encode_blocks(o, samples, m, ulp * double(o.step), threads);
  }

 private:
  template <class T>
  Encoded as_fixed_point(Header l, SampleType type) const {
    l.sample = type;
    Buffer<T> integers = load_samples<T>(a, l, m);
    STZ_FAULT_POINT(samples, integers.data(), integers.size() * sizeof(T));
    return encode_blocks(l, integers.data(), m, 0.5 * double(l.step), threads);
  }
};

template <class S>
Encoded encode_floating(const Array& a, Header h, int threads) {
  h.sample = sizeof(S) == 4 ? SampleType::f32 : SampleType::f64;
  Floating<S> f(a, h, threads);
  f.load(h);
  Encoded best;
  Resolution steps;
  if (h.mode == STZ_POINTWISE_RELATIVE) {
    best = f.logarithmic(h);
    if (best.empty()) best = f.ulp_steps(h);
    if (best.empty()) best = f.lossless(h);
    steps.relative = 2 * h.bound;
    keep_smaller(best, encode_palette(h, f.samples, f.n, f.m, steps, best, threads));
    return best;
  }
  best = f.fixed_point(h, steps.step);
  if (h.mode == STZ_ABSOLUTE && h.bound > 0.5 * f.ulp) keep_smaller(best, f.uniform(h));
  if (best.empty() || h.bound < 8 * f.ulp) keep_smaller(best, f.lossless(h));
  steps.step = std::max(steps.step, 2 * h.bound);
  keep_smaller(best, encode_palette(h, f.samples, f.n, f.m, steps, best, threads));
  return best;
}

template <class S>
Encoded encode_integers(const Array& a, Header h, int threads) {
  Masks m = find_masks(a, h);
  Buffer<S> samples = load_samples<S>(a, h, m);
  STZ_FAULT_POINT(samples, samples.data(), samples.size() * sizeof(S));
  h.sample = sizeof(S) == 4 ? SampleType::f32 : std::is_floating_point_v<S> ? SampleType::f64 : SampleType::i64;
  const u64 units = h.mode == STZ_ABSOLUTE ? u64(std::min(h.bound, 1e18)) : 0;
  h.quantizer = QuantizerKind::integer;
  h.step = 2 * units + 1;
  Header numbers = h;
  if (std::is_floating_point_v<S> && units >= least_rounded_bound) {
    numbers.quantizer = QuantizerKind::uniform;
    numbers.step = 1;
    numbers.half_step = sample_bound(h) - 1.0 / 128;  // room for the rounding of samples
  }
  Encoded best = encode_blocks(numbers, samples.data(), m, 0.5 * double(h.step), threads);
  keep_smaller(best, encode_palette(h, samples.data(), samples.size(), m, {double(h.step), 0}, best, threads));
  return best;
}

Encoded encode_with_effort(const Array& a, const Header& h, int threads) {
  switch (a.layout.dtype) {
    case STZ_F16:
    case STZ_F32:
    case STZ_C64:
      return encode_floating<float>(a, h, threads);
    case STZ_F64:
    case STZ_C128:
      return encode_floating<double>(a, h, threads);
    case STZ_I32:
    case STZ_U32:
      return encode_integers<double>(a, h, threads);
    case STZ_I64:
    case STZ_U64:
      return encode_integers<i64>(a, h, threads);
    default:
      return encode_integers<float>(a, h, threads);
  }
}

}  // namespace

Encoded encode_numbers(const Array& a, const Header& h, int threads) {
  Encoded best = encode_with_effort(a, h, threads);
  if (h.effort <= default_effort || h.estimate) return best;
  // What is fitted to more samples, or chosen among more, may end in a worse place: where most samples are alike, up to 18 % worse.
  Header plain = h;
  plain.effort = default_effort;
  keep_smaller(best, encode_with_effort(a, plain, threads));
  return best;
}

}  // namespace stz
