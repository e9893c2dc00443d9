#include "encoder/represent/choose_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/stages.h"
#include "coding/short_floats.h"
#include "format/convert.h"

namespace stz {
namespace {

constexpr double upwards = 1 + 1e-6;

// The smallest and the largest valid sample; low above high if there is none.
template <class S>
struct Extremes {
  using Numbers = std::numeric_limits<S>;
  S low = Numbers::has_infinity ? Numbers::infinity() : Numbers::max();
  S high = Numbers::has_infinity ? -Numbers::infinity() : Numbers::lowest();
  bool any() const { return !(low > high); }
  bool of_both_signs() const { return low < 0 && high > 0; }
  void add(S v) {
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  void add(const Extremes& other) {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
  }
};

template <class S>
void add_valid(const S* samples, u64 n, Extremes<S>& all) {
  constexpr u64 together = 128 / sizeof(S);
  Extremes<S> lane[together];
  u64 i = 0;
  for (; i + together <= n; i += together)
    for (u64 k = 0; k < together; k++) lane[k].add(samples[i + k]);
  for (; i < n; i++) all.add(samples[i]);
  for (const Extremes<S>& each : lane) all.add(each);
}

// `ends_early`: not all samples are looked at if there are some of both signs.
template <class S>
Extremes<S> extremes_of(const S* samples, const u8* specials, u64 n, bool ends_early) {
  STZ_STAGE(scan);
  Extremes<S> all;
  constexpr u64 part = 16 * special_run;
  for (u64 from = 0; from < n && !(ends_early && all.of_both_signs()); from += part) {
    const u64 end = std::min(n, from + part);
    if (!specials || !any_special(specials + from, end - from)) {
      add_valid(samples + from, end - from, all);
      continue;
    }
    for (u64 i = from; i < end; i++)
      if (specials[i] == special_none) all.add(samples[i]);
  }
  return all;
}

u64 sign_bit(i32 dtype) { return u64(1) << (8 * component_size(dtype) - 1); }

// The bits of the smallest number of a floating-point type that is v or more. None if there is no finite one.
std::optional<u64> float_at_least(i32 dtype, double v) {
  const size_t width = component_size(dtype);
  u64 bits = width < 4 ? short_from_double(float_format(dtype), v) : width == 4 ? bit_cast_to<u32>(float(v)) : bit_cast_to<u64>(v);
  if (number_of(dtype, bits) < v) {
    const u64 sign = sign_bit(dtype);
    bits = bits == sign ? 1 : bits & sign ? bits - 1 : bits + 1;
  }
  if (SpecialValues(dtype).special(bits)) return {};
  return bits;
}

template <class Int>
std::optional<u64> integer_near(double whole) {
  constexpr double least = double(std::numeric_limits<Int>::min()), above = 2.0 * double(Int(1) << (std::numeric_limits<Int>::digits - 1));
  if (!(whole >= least && whole < above)) return {};
  return u64(std::make_unsigned_t<Int>(Int(whole)));
}

std::optional<u64> integer_bits(i32 dtype, double whole) {
  switch (dtype) {
    case STZ_I8:
      return integer_near<int8_t>(whole);
    case STZ_U8:
      return integer_near<u8>(whole);
    case STZ_I16:
      return integer_near<i16>(whole);
    case STZ_U16:
      return integer_near<u16>(whole);
    case STZ_I32:
      return integer_near<i32>(whole);
    case STZ_U32:
      return integer_near<u32>(whole);
    case STZ_I64:
      return integer_near<i64>(whole);
    default:
      return integer_near<u64>(whole);
  }
}

// The outermost number of the type that is not beyond v.
std::optional<u64> stated_end(i32 dtype, bool is_low, double v) {
  if (!(__builtin_fabs(v) < __builtin_inf())) return {};
  if (is_integer(dtype)) return integer_bits(dtype, is_low ? std::ceil(v) : std::floor(v));
  if (is_low) return float_at_least(dtype, v);
  const std::optional<u64> negative = float_at_least(dtype, -v);
  return negative ? std::optional<u64>(*negative ^ sign_bit(dtype)) : negative;
}

// How far decoded elements may be from a sample at an end of the valid ones.
double reach_of(const Header& h, const StreamRequest& request, double sample) {
  if (request.layers > 1 || !request.unknown_bits.empty()) return __builtin_inf();
  if (h.mode == STZ_LOSSLESS) return 0;
  if (h.mode == STZ_ABSOLUTE) return h.bound * request.error_factor * upwards;
  return h.bound < 1 ? h.bound * __builtin_fabs(sample) * upwards : __builtin_inf();
}

template <class S>
class EndChooser {
 public:
  EndChooser(const Header& h, const StreamRequest& request) : h_(h), request_(request), dtype_(h.layout.dtype) {}

  // Sets one end of the range. `sample`: the outermost valid one on this side.
  template <class End>
  void choose(S sample, bool is_low, double wanted, End& end) const {
    const u64 outermost = bits_of<S>(h_, sample);
    std::optional<u64> inner;
    const auto offer = [&](std::optional<u64> bits) {
      if (bits && !beyond(outermost, *bits, is_low) && (!inner || beyond(*inner, *bits, is_low))) inner = bits;
    };
    offer(u64(0));
    offer(stated_end(dtype_, is_low, wanted));
    if (request_.keep_range) offer(outermost);
    if (!inner) return;
    const bool is_fill = h_.has_fill && same(*inner, h_.fill);  // no valid sample may become that, not even a zero of the other sign
    if (is_fill) inner = outermost;
    if (!may_pass(outermost, *inner, double(sample))) return;
    const bool is_zero = same(*inner, 0) && !is_fill;
    end.kind = is_zero ? ValueRange::at_zero : ValueRange::stated;
    end.bits = is_zero ? 0 : *inner;
  }

 private:
  bool same(u64 a, u64 b) const { return !components_below(dtype_, a, b) && !components_below(dtype_, b, a); }
  // Whether a is farther out than b.
  bool beyond(u64 a, u64 b, bool is_low) const { return is_low ? components_below(dtype_, a, b) : components_below(dtype_, b, a); }
  bool may_pass(u64 outermost, u64 end, double sample) const {
    const bool with_layers = request_.layers > 1 || !request_.unknown_bits.empty();
    const bool is_zero = same(end, 0);
    if (is_zero && is_integer(dtype_) && !is_signed(dtype_)) return false;           // unsigned types end there
    if (is_zero && h_.mode == STZ_POINTWISE_RELATIVE && !with_layers) return false;  // signs are exact
    return !(distance_of(dtype_, outermost, end) > reach_of(h_, request_, sample));
  }

  const Header& h_;
  const StreamRequest& request_;
  const i32 dtype_;
};

}  // namespace

template <class S>
ValueRange choose_range(const Header& h, const StreamRequest& request, const S* samples, const u8* specials, u64 n) {
  const i32 dtype = h.layout.dtype;
  const bool has_wish = request.keep_range || request.valid_low > -__builtin_inf() || request.valid_high < __builtin_inf();
  const bool is_unsigned = is_integer(dtype) && !is_signed(dtype);
  if (reach_of(h, request, 1) == 0 || (is_unsigned && !has_wish)) return {};
  const Extremes<S> of_valid = extremes_of(samples, specials, n, !has_wish);
  if (!of_valid.any() || (of_valid.of_both_signs() && !has_wish)) return {};
  Header plain;
  plain.layout = h.layout;
  plain.mode = h.mode;
  plain.bound = h.bound;
  plain.has_fill = h.has_fill;
  plain.fill = h.fill;
  const EndChooser<S> chooser(plain, request);
  ValueRange range;
  chooser.choose(of_valid.low, true, request.valid_low, range.low);
  chooser.choose(of_valid.high, false, request.valid_high, range.high);
  return range;
}

template ValueRange choose_range(const Header&, const StreamRequest&, const float*, const u8*, u64);
template ValueRange choose_range(const Header&, const StreamRequest&, const double*, const u8*, u64);
template ValueRange choose_range(const Header&, const StreamRequest&, const i64*, const u8*, u64);

}  // namespace stz
