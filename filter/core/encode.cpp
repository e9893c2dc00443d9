// Chooses how an array is represented (constant, raw, or blocks of numbers, integers or ordered bits), then encodes it.
#include "encode.h"

#include <algorithm>

#include "axis_schedule.h"
#include "checksum.h"
#include "convert.h"
#include "encode_level.h"
#include "lattice.h"
#include "logarithm.h"

namespace stz {
namespace {

void check_options(const stz_layout& layout, const stz_options& o) {
  require(o.mode >= STZ_LOSSLESS && o.mode <= STZ_POINTWISE_RELATIVE, STZ_ERROR_MODE);
  require(o.mode == STZ_LOSSLESS || (o.bound >= 0 && o.bound < __builtin_inf()), STZ_ERROR_BOUND);
  require(o.mode != STZ_POINTWISE_RELATIVE || is_floating(layout.dtype), STZ_ERROR_MODE);
  require(o.block >= STZ_BLOCK_DEFAULT && o.block <= STZ_BLOCK_REGION && o.threads >= 0 && o.effort >= 0 && o.effort <= 9 && o.layers >= 0 &&
              o.layers <= 1,
          STZ_ERROR_OPTION);
}

// An array in memory as components in the codec's order: all of component 0, then all of component 1.
struct Array {
  const stz_layout& layout;
  const u8* data;
  size_t width = component_size(layout.dtype);
  int parts = components(layout.dtype);
  bool swap = swapped(layout);
  u64 elements = element_count(layout);
  u64 bits(u64 element, int part) const { return load_bits(data + (element * u64(parts) + u64(part)) * width, width, swap); }
};

bool all_equal(const Array& a) {
  const size_t element = a.width * size_t(a.parts);
  return memcmp(a.data, a.data + element, (a.elements - 1) * element) == 0;
}

Bytes encode_raw(Header h, const Array& a) {
  h.form = Form::raw;
  Bytes out = write_header(h);
  out.insert(out.end(), a.data, a.data + a.elements * a.width * size_t(a.parts));
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

Bytes encode_constant(Header h, const Array& a) {
  h.form = Form::constant;
  Bytes out = write_header(h);
  out.insert(out.end(), a.data, a.data + a.width * size_t(a.parts));
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

// Extent of the array without trailing planes in which every component has the bits of the very last one.
bool find_valid_extent(const Array& a, Header& h) {
  const int rank = a.layout.rank;
  std::copy(a.layout.shape, a.layout.shape + rank, h.valid);
  if (rank == 0 || a.elements < 64) return false;
  h.padding = a.bits(a.elements - 1, 0);
  auto padded = [&](u64 element) {
    for (int part = 0; part < a.parts; part++)
      if (a.bits(element, part) != h.padding) return false;
    return true;
  };
  if (!padded(a.elements - 1) || !padded(a.elements - 2)) {
    if (a.layout.shape[rank - 1] > 1) return false;
  }
  u64 stride[STZ_MAX_RANK];
  u64 s = 1;
  for (int k = rank - 1; k >= 0; k--) {
    stride[k] = s;
    s *= a.layout.shape[k];
  }
  bool found = false;
  for (int axis = 0; axis < rank; axis++) {
    // a plane: all elements whose index along `axis` is v, inside the extent found so far
    auto plane = [&](u64 v) {
      u64 count = 1;
      for (int k = 0; k < rank; k++)
        if (k != axis) count *= h.valid[k];
      for (u64 e = count; e-- > 0;) {
        u64 rest = e, element = v * stride[axis];
        for (int k = rank - 1; k >= 0; k--) {
          if (k == axis) continue;
          element += rest % h.valid[k] * stride[k];
          rest /= h.valid[k];
        }
        if (!padded(element)) return false;
      }
      return true;
    };
    while (h.valid[axis] > 1 && plane(h.valid[axis] - 1)) {
      h.valid[axis]--;
      found = true;
    }
  }
  return found;
}

// Calls f(number in the valid box, element of the array) for all elements of the valid box.
template <class F>
void for_valid(const Array& a, const Header& h, F f) {
  if (!h.partial) {
    for (u64 e = 0; e < a.elements; e++) f(e, e);
    return;
  }
  const int rank = a.layout.rank;
  const u64 row = h.valid[rank - 1];
  u64 rows = 1;
  for (int k = 0; k < rank - 1; k++) rows *= h.valid[k];
  for (u64 r = 0; r < rows; r++) {
    u64 rest = r, element = 0, stride = a.layout.shape[rank - 1];
    for (int k = rank - 2; k >= 0; k--) {
      element += rest % h.valid[k] * stride;
      rest /= h.valid[k];
      stride *= a.layout.shape[k];
    }
    for (u64 x = 0; x < row; x++) f(r * row + x, element + x);
  }
}

struct Masks {
  std::vector<u8> kinds;  // empty: nothing is masked
  std::vector<OtherSample> others;
};

Masks find_masks(const Array& a, Header& h, u64 valid) {
  Masks m;
  const bool floating = is_floating(a.layout.dtype);
  if (!floating && !h.has_fill) return m;
  bool have_nan = false;
  for (int part = 0; part < a.parts; part++)
    for_valid(a, h, [&](u64 number, u64 element) {
      u64 bits = a.bits(element, part), at = u64(part) * valid + number;
      u8 kind = mask_none;
      if (h.has_fill && bits == h.fill) kind = mask_fill;
      else if (floating) {
        kind = special_kind(a.layout.dtype, bits, h.nan_bits);
        if (kind == mask_other && !have_nan) {  // the first NaN is the common one
          have_nan = true;
          h.nan_bits = bits;
          kind = mask_nan;
        }
      }
      if (kind == mask_none) return;
      if (m.kinds.empty()) m.kinds.resize(valid * u64(a.parts));
      m.kinds[at] = kind;
      if (kind == mask_other) m.others.push_back({at, bits});
    });
  h.masked = !m.kinds.empty();
  return m;
}

template <class S>
std::vector<S> load_samples(const Array& a, const Header& h, const Masks& m, u64 valid) {
  std::vector<S> samples(valid * u64(a.parts));
  S last = 0;
  for (int part = 0; part < a.parts; part++)
    for_valid(a, h, [&](u64 number, u64 element) {
      u64 at = u64(part) * valid + number;
      if (m.kinds.empty() || !m.kinds[at]) last = sample_of<S>(h, a.bits(element, part));
      samples[at] = last;  // masked samples are never looked at; a value near the others keeps kernels from slow numbers
    });
  return samples;
}

// The array itself, if it can be read as samples: native numbers, all finite, none of them the fill value, nothing cut off. Else null.
template <class S>
const S* plain_samples(const Array& a, const Header& h) {
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  if (a.width != sizeof(S) || a.parts != 1 || a.swap || h.partial || reinterpret_cast<uintptr_t>(a.data) % sizeof(S)) return nullptr;
  constexpr Bits exponent = sizeof(S) == 4 ? Bits(0x7f800000) : Bits(u64(0x7ff) << 52);
  const Bits* bits = reinterpret_cast<const Bits*>(a.data);
  const Bits fill = h.has_fill ? Bits(h.fill) : exponent;
  constexpr u64 piece = 4096;
  for (u64 from = 0; from < a.elements; from += piece) {
    Bits special = 0;
    for (u64 i = from; i < std::min(from + piece, a.elements); i++) special |= Bits((bits[i] & exponent) == exponent) | Bits(bits[i] == fill);
    if (special) return nullptr;
  }
  return reinterpret_cast<const S*>(a.data);
}

template <class S>
double largest_magnitude(const S* samples, u64 n, const Masks& m) {
  if (!m.kinds.empty()) {
    double largest = 0;
    for (u64 i = 0; i < n; i++)
      if (!m.kinds[i]) largest = std::max(largest, __builtin_fabs(double(samples[i])));
    return largest;
  }
  // finite numbers are ordered as their bits without the sign
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  Bits largest = 0;
  for (u64 i = 0; i < n; i++) {
    Bits b;
    memcpy(&b, samples + i, sizeof b);
    b &= Bits(~Bits(0)) >> 1;
    largest = b > largest ? b : largest;
  }
  return double(bit_cast_to<S>(largest));
}

template <class S>
Bytes encode_blocks(Header h, const S* samples, const Masks& m, double unit) {
  h.form = Form::blocks;
  const u8* kinds = m.kinds.empty() ? nullptr : m.kinds.data();
  h.offset = choose_axis_offsets<S>(h, samples, kinds, unit);
  Bytes sections = encode_sections<S>(h, samples, kinds, m.others);
  Bytes out = write_header(h);
  out.insert(out.end(), sections.begin(), sections.end());
  return out;
}

void keep_smaller(Bytes& best, Bytes other) {
  if (best.empty() || (!other.empty() && other.size() < best.size())) best = std::move(other);
}

double unit_in_last_place(double v, i32 dtype) {
  if (v == 0) return 0;
  const int mantissa = component_size(dtype) == 2 ? 10 : component_size(dtype) == 4 ? 23 : 52;
  const int smallest = component_size(dtype) == 2 ? -24 : component_size(dtype) == 4 ? -149 : -1074;
  return __builtin_ldexp(1, std::max(smallest, std::max(__builtin_ilogb(v), -1022) - mantissa));
}

// Low mantissa bits that are zero in every valid sample: numbers of a shorter type, or with few binary digits.
template <class S>
int zero_bits_of(const S* samples, u64 n, const Masks& m) {
  using Bits = std::conditional_t<sizeof(S) == 4, u32, u64>;
  Bits any = 0;
  for (u64 i = 0; i < n; i++)
    if (m.kinds.empty() || !m.kinds[i]) any |= bit_cast_to<Bits>(samples[i]);
  const int mantissa = sizeof(S) == 4 ? 23 : 52;
  return std::min(mantissa - 1, any ? __builtin_ctzll(u64(any)) : 0);
}

// Samples as floating-point numbers of one array, and the ways to code them.
template <class S>
struct Floating {
  const Array& a;
  const Header& h;
  const u64 valid, n;
  Masks m;
  std::vector<S> loaded;
  const S* samples;
  double ulp;  // of the largest magnitude

  Floating(const Array& array, const Header& header, u64 valid_elements)
      : a(array), h(header), valid(valid_elements), n(valid_elements * u64(array.parts)), samples(plain_samples<S>(array, header)) {}

  void load(Header& own) {
    if (!samples) {
      m = find_masks(a, own, valid);
      loaded = load_samples<S>(a, own, m, valid);
      samples = loaded.data();
    }
    ulp = unit_in_last_place(largest_magnitude(samples, n, m), a.layout.dtype);
  }

  Bytes uniform(Header u) const {
    u.quantizer = QuantizerKind::uniform;
    // the cast eats up to half an ulp of the bound: shrink the step rather than store samples verbatim
    u.base = ulp * 0.5 > 0.02 * u.bound ? u.bound - 0.5 * ulp : u.bound;
    if (u.base < 0.1 * u.bound) u.base = u.bound;
    return encode_blocks(u, samples, m, u.base);
  }

  Bytes lossless(Header o) const {
    o.step = 1;
    if (a.layout.dtype == STZ_F16) {
      o.quantizer = QuantizerKind::integer;
      o.transform = Transform::ordered_half;
      std::vector<S> integers = load_samples<S>(a, o, m, valid);
      return encode_blocks(o, integers.data(), m, 0.5);
    }
    o.quantizer = QuantizerKind::ordered;
    o.zero_bits = zero_bits_of(samples, n, m);
    return encode_blocks(o, samples, m, ulp);
  }

  // Empty if the numbers are on no lattice or a lattice is of no use.
  Bytes lattice(const Header& own) const {
    if (a.layout.dtype == STZ_F16) return {};
    auto found = find_lattice(own, samples, m.kinds.empty() ? nullptr : m.kinds.data(), n);
    if (!found || found->largest >= i64(1) << 50) return {};
    Header l = own;
    l.quantizer = QuantizerKind::integer;
    l.transform = Transform::lattice;
    l.origin = found->origin;
    l.delta = found->delta;
    // steps of 2 m + 1 lattice units err by m units and the rounding of k * delta and of the sum, of x and of x' (perhaps an octave higher)
    double units = own.mode == STZ_ABSOLUTE ? (own.bound - 4 * ulp) / found->delta : 0;
    if (units > 7.5) return {};
    l.step = 2 * u64(std::max(0.0, units)) + 1;
    if (found->largest < i64(1) << 21) return on_lattice<float>(l, SampleType::f32);
    return on_lattice<double>(l, SampleType::f64);
  }

  // Point-wise relative bounds of numbers of one sign; empty if there is no room for the bound.
  Bytes logarithmic(Header l) const {
    const size_t width = component_size(a.layout.dtype);
    const int mantissa = width == 2 ? 10 : width == 4 ? 23 : 52;
    l.base = octave_bound(l.bound, mantissa);
    if (l.base == 0) return {};
    const double smallest = width == 2 ? 6.103515625e-05 : width == 4 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
    bool positive = false, negative = false;
    Masks own = m;
    if (own.kinds.empty()) own.kinds.resize(n);
    for (int part = 0; part < a.parts; part++)
      for_valid(a, l, [&](u64 number, u64 element) {
        const u64 at = u64(part) * valid + number;
        if (own.kinds[at]) return;
        double v = double(samples[at]);
        if (__builtin_fabs(v) < 2 * smallest) {  // zeros and what is so small that its own ulp breaks the bound
          u64 bits = a.bits(element, part);
          own.kinds[at] = bits == 0 ? mask_zero : mask_other;
          if (bits) own.others.push_back({at, bits});
        } else if (v > 0) positive = true;
        else negative = true;
      });
    if (positive && negative) return {};
    std::sort(own.others.begin(), own.others.end(), [](const OtherSample& x, const OtherSample& y) { return x.index < y.index; });
    l.masked = std::any_of(own.kinds.begin(), own.kinds.end(), [](u8 k) { return k != 0; });
    if (!l.masked) own.kinds.clear();
    l.quantizer = QuantizerKind::uniform;
    l.transform = Transform::logarithmic;
    l.negative = negative;
    l.sample = SampleType::f64;
    std::vector<double> octaves = load_samples<double>(a, l, own, valid);
    return encode_blocks(l, octaves.data(), own, l.base);
  }

  // Steps in the order of numbers: any signs.
  Bytes ordered_steps(Header o) const {
    const double ulps = o.bound * (sizeof(S) == 4 ? 8388608.0 : 4503599627370496.0);
    if (a.layout.dtype == STZ_F16 || ulps < 1) return {};
    o.quantizer = QuantizerKind::ordered;
    o.step = 2 * u64(std::min(ulps, sizeof(S) == 4 ? 1e9 : 1e18)) + 1;
    return encode_blocks(o, samples, m, ulp * double(o.step));
  }

 private:
  template <class T>
  Bytes on_lattice(Header l, SampleType type) const {
    l.sample = type;
    std::vector<T> integers = load_samples<T>(a, l, m, valid);
    return encode_blocks(l, integers.data(), m, 0.5 * double(l.step));
  }
};

template <class S>
Bytes encode_floating(const Array& a, Header h, u64 valid) {
  h.sample = sizeof(S) == 4 ? SampleType::f32 : SampleType::f64;
  Floating<S> f(a, h, valid);
  f.load(h);
  Bytes best;
  if (h.mode == STZ_POINTWISE_RELATIVE) {
    best = f.logarithmic(h);
    if (best.empty()) best = f.ordered_steps(h);
    if (best.empty()) best = f.lossless(h);
    return best;
  }
  best = f.lattice(h);
  if (h.mode == STZ_ABSOLUTE && h.bound > 0.5 * f.ulp) keep_smaller(best, f.uniform(h));
  if (best.empty() || h.bound < 8 * f.ulp) keep_smaller(best, f.lossless(h));
  return best;
}

template <class S>
Bytes encode_integers(const Array& a, Header h, u64 valid) {
  Masks m = find_masks(a, h, valid);
  std::vector<S> samples = load_samples<S>(a, h, m, valid);
  h.sample = sizeof(S) == 4 ? SampleType::f32 : S(0.5) != S(0) ? SampleType::f64 : SampleType::i64;
  h.quantizer = QuantizerKind::integer;
  h.step = h.mode == STZ_ABSOLUTE ? 2 * u64(std::min(h.bound, 1e18)) + 1 : 1;
  return encode_blocks(h, samples.data(), m, 0.5 * double(h.step));
}

}  // namespace

Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options) {
  require(layout.byte_order == STZ_LITTLE || layout.byte_order == STZ_BIG, STZ_ERROR_ARGUMENT);
  array_bytes(layout);  // checks dtype and shape
  check_options(layout, options);
  Header h;
  h.layout = layout;
  h.mode = options.mode;
  h.bound = options.mode == STZ_LOSSLESS ? 0 : options.bound;
  if (h.bound == 0) h.mode = STZ_LOSSLESS;
  h.base = h.bound;
  h.region = options.block == STZ_BLOCK_REGION;
  const size_t width = component_size(layout.dtype);
  h.has_fill = options.has_fill != 0;
  h.fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  Array a{layout, data};
  if (a.elements == 0) return encode_raw(h, a);
  if (a.elements > 1 && all_equal(a)) return encode_constant(h, a);
  const size_t raw_size = a.elements * a.width * size_t(a.parts);
  if (raw_size <= 64) return encode_raw(h, a);
  h.partial = find_valid_extent(a, h);
  u64 valid = 1;
  for (int k = 0; k < layout.rank; k++) valid *= h.valid[k];
  Bytes out;
  switch (layout.dtype) {
    case STZ_F16:
    case STZ_F32:
    case STZ_C64: out = encode_floating<float>(a, h, valid); break;
    case STZ_F64:
    case STZ_C128: out = encode_floating<double>(a, h, valid); break;
    case STZ_I32:
    case STZ_U32: out = encode_integers<double>(a, h, valid); break;
    case STZ_I64:
    case STZ_U64: out = encode_integers<i64>(a, h, valid); break;
    default: out = encode_integers<float>(a, h, valid);
  }
  if (out.size() > raw_size + 32) return encode_raw(h, a);
  return out;
}

}  // namespace stz
