#include "format/convert.h"

#include <algorithm>

#include "coding/quantize.h"
#include "format/logarithm.h"
#include "simd/kernels.h"

namespace stz {

void store_padding(const Header& h, u8* p, u64 bytes) {
  if (bytes == 0) return;
  const size_t width = component_size(h.layout.dtype);
  store_bits(p, h.padding, width, swapped(h.layout));
  repeat_bytes(p, width, bytes);
}

float half_to_float(u16 h) {
  u32 sign = u32(h & 0x8000) << 16, a = h & 0x7fff;
  if (a >= 0x7c00) return bit_cast_to<float>(sign | 0x7f800000u | (a & 0x3ff) << 13);
  if (a < 0x400) {  // subnormal: a multiple of 2^-24
    float v = float(a) * 5.9604644775390625e-8f;
    return sign ? -v : v;
  }
  return bit_cast_to<float>(sign | ((a << 13) + (112u << 23)));
}

namespace {

u16 half_from_exact(float f) {  // f is a half-precision number or NaN
  u32 b = bit_cast_to<u32>(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a > 0x7f800000) return u16(sign | 0x7e00 | (a >> 13 & 0x3ff));  // make it quiet
  if (a == 0x7f800000) return u16(sign | 0x7c00);
  if (a < 0x38800000) return u16(sign | u32(bit_cast_to<float>(a) * 16777216.0f));
  return u16(sign | ((a - (112u << 23)) >> 13));
}

}  // namespace

u16 half_from_double(double v) {
  constexpr int half_mantissa = 10, double_mantissa = 52, smallest_normal = -14;
  const u64 b = bit_cast_to<u64>(v), a = b & ~(u64(1) << 63);
  const u16 sign = u16(b >> 48 & 0x8000);
  const int exponent = int(a >> double_mantissa) - 1023;
  if (exponent == 1024) return u16(sign | 0x7c00 | (a << 12 ? 0x200 | (a >> 42 & 0x3ff) : 0));  // infinity, or a quiet NaN
  if (exponent > 15) return u16(sign | 0x7c00);
  if (exponent < -25) return sign;  // below half of the smallest number, 2^-24
  const u64 mantissa = (a & ((u64(1) << double_mantissa) - 1)) | u64(1) << double_mantissa;
  const int dropped = double_mantissa - half_mantissa + std::max(0, smallest_normal - exponent);
  const u64 rest = mantissa & ((u64(1) << dropped) - 1), tie = u64(1) << (dropped - 1);
  u64 kept = mantissa >> dropped;
  kept += rest > tie || (rest == tie && kept & 1);
  // A carry out of the mantissa increments the exponent; after the largest number this gives infinity.
  const int above_smallest = std::max(0, exponent - smallest_normal);
  return u16(sign | ((u64(above_smallest) << half_mantissa) + kept));
}

namespace {

i64 integer_of(i32 dtype, u64 bits) {
  switch (dtype) {
    case STZ_I8:
      return int8_t(bits);
    case STZ_I16:
      return int16_t(bits);
    case STZ_I32:
      return i32(u32(bits));
    case STZ_U64:
      return i64(bits ^ (u64(1) << 63));  // shifted into the signed range
    default:
      return i64(bits);
  }
}

}  // namespace

double number_of(i32 dtype, u64 bits) {
  if (!is_floating(dtype)) return double(integer_of(dtype, bits));
  switch (component_size(dtype)) {
    case 2:
      return double(half_to_float(u16(bits)));
    case 4:
      return double(bit_cast_to<float>(u32(bits)));
    default:
      return bit_cast_to<double>(bits);
  }
}

double distance_of(i32 dtype, u64 x, u64 y) {
  if (is_floating(dtype)) return __builtin_fabs(number_of(dtype, x) - number_of(dtype, y));
  const i64 a = integer_of(dtype, x), b = integer_of(dtype, y);
  return double(a > b ? u64(a) - u64(b) : u64(b) - u64(a));
}

namespace {

u64 integer_bits(i32 dtype, i64 v) {
  switch (dtype) {
    case STZ_I8:
      return u64(std::clamp<i64>(v, -128, 127)) & 0xff;
    case STZ_U8:
      return u64(std::clamp<i64>(v, 0, 255));
    case STZ_I16:
      return u64(std::clamp<i64>(v, -32768, 32767)) & 0xffff;
    case STZ_U16:
      return u64(std::clamp<i64>(v, 0, 65535));
    case STZ_I32:
      return u64(std::clamp<i64>(v, INT32_MIN, INT32_MAX)) & 0xffffffff;
    case STZ_U32:
      return u64(std::clamp<i64>(v, 0, UINT32_MAX));
    case STZ_U64:
      return u64(v) ^ (u64(1) << 63);
    default:
      return u64(v);
  }
}

u64 number_bits(i32 dtype, double v) {
  switch (component_size(dtype)) {
    case 2:
      return half_from_double(v);
    case 4:
      return bit_cast_to<u32>(float(v));
    default:
      return bit_cast_to<u64>(v);
  }
}

// The bits of the nearest finite number of the type.
u64 finite_bits(i32 dtype, double v) {
  const size_t width = component_size(dtype);
  const double largest = width == 2 ? 65504 : width == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308;
  return number_bits(dtype, std::clamp(v, -largest, largest));
}

// Maps half-precision bits to integers in the order of the numbers (ULP space).
i64 ulp_float16(u64 bits) {
  i64 v = int16_t(bits);
  return v ^ ((v >> 15) & 0x7fff);
}

}  // namespace

template <class S>
S sample_of(const Header& h, u64 bits) {
  const i32 dtype = h.layout.dtype;
  if (!is_floating(dtype)) return S(integer_of(dtype, bits));
  switch (h.transform) {
    case Transform::ulp_float16:
      return S(ulp_float16(bits));
    case Transform::fixed_point:
      return S(to_integer((number_of(dtype, bits) - h.origin) / h.delta));
    case Transform::logarithmic:
      return S(octaves_of(__builtin_fabs(number_of(dtype, bits))));
    default:
      break;
  }
  if constexpr (sizeof(S) == 4)
    return dtype == STZ_F16 ? half_to_float(u16(bits)) : bit_cast_to<float>(u32(bits));
  else
    return S(number_of(dtype, bits));
}

namespace {

template <class S>
u64 plain_bits_of(const Header& h, S sample) {
  const i32 dtype = h.layout.dtype;
  if (h.transform == Transform::palette) return palette_bits(h, to_integer(double(sample)));
  if (!is_floating(dtype)) return integer_bits(dtype, !std::is_floating_point_v<S> ? i64(sample) : to_integer(double(sample)));
  switch (h.transform) {
    case Transform::ulp_float16:
      return u64(ulp_float16(u64(std::clamp<i64>(to_integer(double(sample)), -32768, 32767)))) & 0xffff;
    case Transform::fixed_point:
      return finite_bits(dtype, h.origin + double(sample) * h.delta);
    case Transform::logarithmic: {
      double v = number_from_octaves(double(sample));
      return finite_bits(dtype, h.negative ? -v : v);
    }
    default:
      break;
  }
  if constexpr (sizeof(S) == 4)
    return dtype == STZ_F16 ? half_from_exact(round_to_half(float(sample))) : bit_cast_to<u32>(sample);
  else
    return number_bits(dtype, double(sample));
}

}  // namespace

template <class S>
u64 bits_of(const Header& h, S sample) {
  const u64 bits = plain_bits_of(h, sample);
  return h.range.any() ? in_range(h, bits) : bits;
}

namespace {

// Integer types whose samples are floating-point numbers.
bool is_short_integer(i32 dtype) { return !is_floating(dtype) && component_size(dtype) <= 4; }

constexpr i64 part = 1024;  // float16 values converted at a time

template <class S>
void half_ulp_samples(const u8* components, i64 n, S* samples) {
  i16 ordered[part];
  for (i64 from = 0; from < n; from += part) {
    const i64 count = std::min(part, n - from);
    memcpy(ordered, components + 2 * from, size_t(count) * 2);
    for (i64 i = 0; i < count; i++) ordered[i] = i16(ordered[i] ^ ((ordered[i] >> 15) & 0x7fff));
    element_kernels<S>().load(ordered, 2, true, size_t(count), samples + from);
  }
}
template <class S>
void half_ulp_components(const S* samples, i64 n, u8* out) {
  i16 ordered[part];
  for (i64 from = 0; from < n; from += part) {
    const i64 count = std::min(part, n - from);
    element_kernels<S>().store(samples + from, size_t(count), 2, true, ordered);
    for (i64 i = 0; i < count; i++) ordered[i] = i16(ordered[i] ^ ((ordered[i] >> 15) & 0x7fff));
    memcpy(out + 2 * from, ordered, size_t(count) * 2);
  }
}

template <class S>
bool fast_samples(const Header& h, const u8* components, i64 n, S* samples) {
  if constexpr (!std::is_floating_point_v<S>)
    return false;
  else {
    if (h.transform == Transform::palette) return false;
    const i32 dtype = h.layout.dtype;
    if (samples_are_elements<S>(h))
      memcpy(samples, components, size_t(n) * sizeof(S));
    else if (is_short_integer(dtype))
      element_kernels<S>().load(components, int(component_size(dtype)), is_signed(dtype), size_t(n), samples);
    else if (h.transform == Transform::ulp_float16)
      half_ulp_samples(components, n, samples);
    else
      return false;
    return true;
  }
}

template <class S>
bool fast_components(const Header& h, const S* samples, i64 n, u8* out) {
  if constexpr (!std::is_floating_point_v<S> || !host_is_little)
    return false;
  else {
    if (h.transform == Transform::palette) return false;
    const i32 dtype = h.layout.dtype;
    if (samples_are_elements<S>(h))
      memcpy(out, samples, size_t(n) * sizeof(S));
    else if (is_short_integer(dtype))
      element_kernels<S>().store(samples, size_t(n), int(component_size(dtype)), is_signed(dtype), out);
    else if (h.transform == Transform::ulp_float16)
      half_ulp_components(samples, n, out);
    else if (h.transform == Transform::fixed_point && dtype == STZ_F32) {
      constexpr double largest = 3.4028234663852886e38;
      for (i64 i = 0; i < n; i++) {
        double v = h.origin + double(samples[i]) * h.delta;
        v = v < -largest ? -largest : v > largest ? largest : v;
        store_le(out + 4 * i, bit_cast_to<u32>(float(v)));
      }
    } else
      return false;
    return true;
  }
}

}  // namespace

template <class S>
void samples_of(const Header& h, const u8* components, i64 n, S* samples) {
  if (fast_samples(h, components, n, samples)) return;
  const size_t width = component_size(h.layout.dtype);
  for (i64 i = 0; i < n; i++) samples[i] = sample_of<S>(h, load_bits(components + size_t(i) * width, width, false));
}

template <class S>
void components_of(const Header& h, const S* samples, i64 n, u8* out) {
  if (fast_components(h, samples, n, out)) {
    if (h.range.any()) bring_into_range(h, out, n);
    return;
  }
  const size_t width = component_size(h.layout.dtype);
  for (i64 i = 0; i < n; i++) store_bits(out + size_t(i) * width, bits_of<S>(h, samples[i]), width, !host_is_little);
}

template void samples_of(const Header&, const u8*, i64, float*);
template void samples_of(const Header&, const u8*, i64, double*);
template void samples_of(const Header&, const u8*, i64, i64*);
template void components_of(const Header&, const float*, i64, u8*);
template void components_of(const Header&, const double*, i64, u8*);
template void components_of(const Header&, const i64*, i64, u8*);
template float sample_of(const Header&, u64);
template double sample_of(const Header&, u64);
template i64 sample_of(const Header&, u64);
template u64 bits_of(const Header&, float);
template u64 bits_of(const Header&, double);
template u64 bits_of(const Header&, i64);

}  // namespace stz
