#include "format/convert.h"

#include <algorithm>

#include "coding/quantize.h"
#include "coding/short_floats.h"
#include "format/logarithm.h"
#include "simd/kernels.h"

namespace stz {

void store_padding(const Header& h, u8* p, u64 bytes) {
  if (bytes == 0) return;
  const size_t width = component_size(h.layout.dtype);
  store_bits(p, h.padding, width, swapped(h.layout));
  repeat_bytes(p, width, bytes);
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
    case 1:
    case 2:
      return double(short_to_float(float_format(dtype), u16(bits)));
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
    case 1:
    case 2:
      return short_from_double(float_format(dtype), v);
    case 4:
      return bit_cast_to<u32>(float(v));
    default:
      return bit_cast_to<u64>(v);
  }
}

// The bits of the nearest finite number of the type.
u64 finite_bits(i32 dtype, double v) {
  const double largest = number_of(dtype, float_format(dtype).first_special() - 1);
  return number_bits(dtype, std::clamp(v, -largest, largest));
}

// Maps the bits of a short float to integers in the order of the numbers (ULP space), and back.
i64 short_place(size_t width, u64 bits) { return width == 1 ? ulp_place(int8_t(bits)) : ulp_place(int16_t(bits)); }
u64 bits_of_place(size_t width, i64 place) {
  if (width == 1) return u8(ulp_place(int8_t(std::clamp<i64>(place, INT8_MIN, INT8_MAX))));
  return u16(ulp_place(int16_t(std::clamp<i64>(place, INT16_MIN, INT16_MAX))));
}

}  // namespace

template <class S>
S sample_of(const Header& h, u64 bits) {
  const i32 dtype = h.layout.dtype;
  if (!is_floating(dtype)) return S(integer_of(dtype, bits));
  switch (h.transform) {
    case Transform::ulp_short:
      return S(short_place(component_size(dtype), bits));
    case Transform::fixed_point:
      if (h.decimals.any()) return S(decimal_index(h.decimals, number_of(dtype, bits)));
      return S(to_integer((number_of(dtype, bits) - h.origin) / h.delta));
    case Transform::logarithmic:
      return S(octaves_of(__builtin_fabs(number_of(dtype, bits))));
    default:
      break;
  }
  if constexpr (sizeof(S) == 4)
    return is_short_float(dtype) ? short_to_float(float_format(dtype), u16(bits)) : bit_cast_to<float>(u32(bits));
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
    case Transform::ulp_short:
      return bits_of_place(component_size(dtype), to_integer(double(sample)));
    case Transform::fixed_point:
      return finite_bits(dtype, h.decimals.any() ? decimal_of(h.decimals, double(sample)) : h.origin + double(sample) * h.delta);
    case Transform::logarithmic: {
      double v = number_from_octaves(double(sample));
      return finite_bits(dtype, h.negative ? -v : v);
    }
    default:
      break;
  }
  if constexpr (sizeof(S) == 4)
    return is_short_float(dtype) ? short_from_float(float_format(dtype), round_to_short(float_format(dtype), float(sample)))
                                 : bit_cast_to<u32>(sample);
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

constexpr i64 part = 1024;  // short floats converted at a time

// `Int`: the signed integer of the width of the components.
template <class Int, class S>
void short_ulp_samples(const u8* components, i64 n, S* samples) {
  Int ordered[part];
  for (i64 from = 0; from < n; from += part) {
    const i64 count = std::min(part, n - from);
    memcpy(ordered, components + i64(sizeof(Int)) * from, size_t(count) * sizeof(Int));
    for (i64 i = 0; i < count; i++) ordered[i] = ulp_place(ordered[i]);
    element_kernels<S>().load(ordered, sizeof(Int), true, size_t(count), samples + from);
  }
}
template <class Int, class S>
void short_ulp_components(const S* samples, i64 n, u8* out) {
  Int ordered[part];
  for (i64 from = 0; from < n; from += part) {
    const i64 count = std::min(part, n - from);
    element_kernels<S>().store(samples + from, size_t(count), sizeof(Int), true, ordered);
    for (i64 i = 0; i < count; i++) ordered[i] = ulp_place(ordered[i]);
    memcpy(out + i64(sizeof(Int)) * from, ordered, size_t(count) * sizeof(Int));
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
    else if (h.transform == Transform::ulp_short)
      component_size(dtype) == 1 ? short_ulp_samples<int8_t>(components, n, samples) : short_ulp_samples<int16_t>(components, n, samples);
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
    else if (h.transform == Transform::ulp_short)
      component_size(dtype) == 1 ? short_ulp_components<int8_t>(samples, n, out) : short_ulp_components<int16_t>(samples, n, out);
    else if (h.transform == Transform::fixed_point && dtype == STZ_F32 && !h.decimals.any()) {
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
