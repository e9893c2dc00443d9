#include "precision/promise.h"

#include <algorithm>

#include "coding/quantize.h"
#include "format/convert.h"

namespace stz {
namespace {

// A non-negative number: an integer times a power of two.
struct Scaled {
  unsigned __int128 digits;
  int exponent;
  int length() const {  // exponent of the highest bit, plus 1
    const u64 high = u64(digits >> 64), low = u64(digits);
    return exponent + (high ? 65 + floor_log2(high) : low ? 1 + floor_log2(low) : 0);
  }
};

Scaled scaled(double v) {
  const u64 bits = bit_cast_to<u64>(v) & ~(u64(1) << 63), mantissa = bits & ((u64(1) << 52) - 1);
  const int exponent = int(bits >> 52);
  return exponent ? Scaled{mantissa | u64(1) << 52, exponent - 1075} : Scaled{mantissa, -1074};
}

bool at_most(const Scaled& a, const Scaled& b) {
  if (a.digits == 0 || b.digits == 0) return a.digits == 0;
  if (a.length() != b.length()) return a.length() < b.length();
  const int shift = a.exponent - b.exponent;  // both have their highest bit at the same place, so that shifting left loses none
  return shift >= 0 ? a.digits << shift <= b.digits : a.digits <= b.digits << -shift;
}

// Distance of integers given by their bits. Flipping the sign bit gives unsigned numbers in the same order.
template <class U>
u64 distance(U x, U y, bool is_signed) {
  const U top = is_signed ? U(U(1) << (8 * sizeof(U) - 1)) : U(0);
  const U a = U(x ^ top), b = U(y ^ top);
  return a > b ? u64(U(a - b)) : u64(U(b - a));
}

u64 distance(i32 dtype, u64 x, u64 y) {
  switch (element_size(dtype)) {
    case 1:
      return distance(u8(x), u8(y), is_signed(dtype));
    case 2:
      return distance(u16(x), u16(y), is_signed(dtype));
    case 4:
      return distance(u32(x), u32(y), is_signed(dtype));
    default:
      return distance(x, y, is_signed(dtype));
  }
}

constexpr u64 run = 512;  // components that are tested together

// A fast test that proves an absolute bound for n floats or doubles of the host: if |x - y| rounded to nearest is below the bound, so is
// the exact distance. Always false with NaN or infinities.
template <class T>
bool clearly_within(const u8* array, const u8* decoded, u64 n, double bound) {
  T x[run], y[run];
  memcpy(x, array, n * sizeof(T));
  memcpy(y, decoded, n * sizeof(T));
  std::make_unsigned_t<CodeOf<T>> unclear = 0;
  for (u64 i = 0; i < n; i++) unclear |= !(__builtin_fabs(double(x[i]) - double(y[i])) < bound);
  return unclear == 0;
}

// Whether a component is +0 or -0.
bool number_is_zero(i32 dtype, u64 bits) { return is_floating(dtype) ? (bits & (float_format(dtype).sign() - 1)) == 0 : bits == 0; }

}  // namespace

bool within_relative(double x, double y, double relative) {
  // Both sides are rounded once, with a relative error below 2^-52 unless they are subnormal.
  const double error = __builtin_fabs(x - y), allowed = relative * __builtin_fabs(x);
  if (error == 0) return true;
  if (allowed > 1e-290 && error < __builtin_inf()) {
    if (error <= allowed * (1 - 1e-15)) return true;
    if (error > allowed * (1 + 1e-15)) return false;
  }
  const Scaled a = scaled(x), b = scaled(y), r = scaled(relative);
  const bool a_above = a.exponent >= b.exponent;
  const int shift = a_above ? a.exponent - b.exponent : b.exponent - a.exponent;
  if (shift > 64) return false;
  const __int128 left = __int128(a.digits << (a_above ? shift : 0)), right = __int128(b.digits << (a_above ? 0 : shift));
  const __int128 difference = (x < 0) == (y < 0) ? left - right : left + right;
  const Scaled exact{(unsigned __int128)(difference < 0 ? -difference : difference), std::min(a.exponent, b.exponent)};
  return at_most(exact, {a.digits * r.digits, a.exponent + r.exponent});
}

bool Promise::allows(u64 x, u64 y) const {
  if (x == y) return true;
  if (mode == STZ_LOSSLESS || (has_fill && (x == fill || y == fill))) return false;
  if (keep_zeros && number_is_zero(dtype, x)) return false;
  if (is_integer(dtype)) return mode == STZ_ABSOLUTE && (bound >= 0x1p64 || distance(dtype, x, y) <= u64(bound));
  const SpecialValues special(dtype);
  if (special.special(x) || special.special(y)) return false;
  const double number = number_of(dtype, x), other = number_of(dtype, y);
  if (mode == STZ_ABSOLUTE) return within(number, other, bound);
  const u64 sign = u64(1) << (8 * component_size(dtype) - 1);
  return number != 0 && (x & sign) == (y & sign) && within_relative(number, other, bound);
}

bool Promise::allows_all(const stz_layout& layout, const u8* array, const u8* decoded, u64 elements) const {
  const size_t width = component_size(dtype);
  const u64 n = elements * u64(components(dtype));
  const bool swap = swapped(layout), plain = mode == STZ_ABSOLUTE && is_floating(dtype) && width > 2 && !swap && !has_fill && !keep_zeros;
  for (u64 from = 0; from < n; from += run) {
    const u64 count = std::min(run, n - from);
    const u8 *x = array + from * width, *y = decoded + from * width;
    if (plain && (width == 4 ? clearly_within<float>(x, y, count, bound) : clearly_within<double>(x, y, count, bound))) continue;
    if (memcmp(x, y, size_t(count) * width) == 0) continue;
    for (u64 i = 0; i < count; i++)
      if (!allows(load_bits(x + i * width, width, swap), load_bits(y + i * width, width, swap))) return false;
  }
  return true;
}

}  // namespace stz
