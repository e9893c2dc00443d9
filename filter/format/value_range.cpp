#include "format/value_range.h"

#include <limits>

#include "coding/short_floats.h"
#include "format/convert.h"

namespace stz {
namespace {

// A number of fewer bits than float32, in the order of its value.
template <i32 dtype, class Bits>
struct Short {
  Bits bits;
  float value() const { return short_to_float(float_format(dtype), bits); }
  bool operator<(Short other) const { return value() < other.value(); }
  bool operator>(Short other) const { return other < *this; }
};

template <class T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, u8, std::conditional_t<sizeof(T) == 2, u16, std::conditional_t<sizeof(T) == 4, u32, u64>>>;
template <class T>
T component_of(u64 bits) {
  return bit_cast_to<T>(BitsOf<T>(bits));
}
template <class T>
u64 bits_of_component(T v) {
  return bit_cast_to<BitsOf<T>>(v);
}

// Calls f with a component of the type. (64-bit integers have their own values here, not those of samples.)
template <class F>
auto with_component(i32 dtype, F f) {
  switch (dtype) {
    case STZ_F16:
      return f(Short<STZ_F16, u16>{});
    case STZ_BF16:
      return f(Short<STZ_BF16, u16>{});
    case STZ_F8_E4M3:
      return f(Short<STZ_F8_E4M3, u8>{});
    case STZ_F8_E5M2:
      return f(Short<STZ_F8_E5M2, u8>{});
    case STZ_F32:
    case STZ_C64:
      return f(float());
    case STZ_F64:
    case STZ_C128:
      return f(double());
    case STZ_I8:
      return f(int8_t());
    case STZ_U8:
      return f(u8());
    case STZ_I16:
      return f(i16());
    case STZ_U16:
      return f(u16());
    case STZ_I32:
      return f(i32());
    case STZ_U32:
      return f(u32());
    case STZ_I64:
      return f(i64());
    default:
      return f(u64());
  }
}

template <class T>
T into(const ValueRange& range, T v) {
  if (range.low.kind != ValueRange::open)
    if (const T low = component_of<T>(range.low.bits); v < low) return low;
  if (range.high.kind != ValueRange::open)
    if (const T high = component_of<T>(range.high.bits); v > high) return high;
  return v;
}

template <class T>
void bring_all(const ValueRange& range, u8* components, i64 n) {
  const auto each = [&](auto f) {
    for (i64 i = 0; i < n; i++) {
      T v = component_of<T>(load_bits(components + size_t(i) * sizeof(T), sizeof(T), !host_is_little));
      v = f(v);
      store_bits(components + size_t(i) * sizeof(T), bits_of_component(v), sizeof(T), !host_is_little);
    }
  };
  const T low = component_of<T>(range.low.bits), high = component_of<T>(range.high.bits);
  if (range.low.kind != ValueRange::open) each([=](T v) { return v < low ? low : v; });
  if (range.high.kind != ValueRange::open) each([=](T v) { return v > high ? high : v; });
}

}  // namespace

bool components_below(i32 dtype, u64 a, u64 b) {
  return with_component(dtype, [&](auto type) { return component_of<decltype(type)>(a) < component_of<decltype(type)>(b); });
}

Bytes write_value_range(const ValueRange& range, size_t width) {
  Bytes payload{u8(range.low.kind | range.high.kind << 2)};
  for (const auto& end : {range.low, range.high})
    for (size_t i = 0; end.kind == ValueRange::stated && i < width; i++) payload.push_back(u8(end.bits >> (8 * i)));
  return payload;
}

void read_value_range(ByteReader& payload, const Header& h, ValueRange& range) {
  const u8 kinds = payload.get<u8>();
  range.low.kind = kinds & 3;
  range.high.kind = kinds >> 2 & 3;
  require(range.low.kind <= ValueRange::stated && range.high.kind <= ValueRange::stated && kinds >> 4 == 0, STZ_ERROR_VERSION);
  require(range.any(), STZ_ERROR_CORRUPT);
  const size_t width = component_size(h.layout.dtype);
  for (auto* end : {&range.low, &range.high}) {
    if (end->kind != ValueRange::stated) continue;
    const u8* bytes = payload.take(width);
    for (size_t i = 0; i < width; i++) end->bits |= u64(bytes[i]) << (8 * i);
    require(!is_floating(h.layout.dtype) || !SpecialValues(h.layout.dtype).special(end->bits), STZ_ERROR_CORRUPT);
  }
  if (range.low.kind == ValueRange::open || range.high.kind == ValueRange::open) return;
  require(!components_below(h.layout.dtype, range.high.bits, range.low.bits), STZ_ERROR_CORRUPT);
}

u64 in_range(const Header& h, u64 bits) {
  return with_component(h.layout.dtype, [&](auto type) {
    using T = decltype(type);
    return bits_of_component(into(h.range, component_of<T>(bits)));
  });
}

void bring_into_range(const Header& h, u8* components, i64 n) {
  with_component(h.layout.dtype, [&](auto type) { bring_all<decltype(type)>(h.range, components, n); });
}

template <class S>
Limits<S> limits_of(const Header& h) {
  using Numbers = std::numeric_limits<S>;
  Limits<S> limits{Numbers::has_infinity ? -Numbers::infinity() : Numbers::lowest(),
                   Numbers::has_infinity ? Numbers::infinity() : Numbers::max()};
  if (!h.range.any() || !samples_are_elements<S>(h)) return limits;
  if (h.range.low.kind != ValueRange::open) limits.low = component_of<S>(h.range.low.bits);
  if (h.range.high.kind != ValueRange::open) limits.high = component_of<S>(h.range.high.bits);
  return limits;
}

template Limits<float> limits_of(const Header&);
template Limits<double> limits_of(const Header&);
template Limits<i64> limits_of(const Header&);

}  // namespace stz
