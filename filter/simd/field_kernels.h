// The interface of the kernels that take floating-point numbers apart (format/float_fields.h).
#pragma once
#include "base/common.h"

namespace stz {

// Numbers of 8 to 64 bits whose rests (format/float_fields.h) stand in planes.
constexpr size_t rest_part = 1024;  // numbers at a time
struct RestPlanes {
  int low;       // mantissa bits of a rest; its sign stands above them
  int zeros;     // low bits that are left out
  size_t all;    // numbers in the planes
  size_t first;  // place in the planes of the first number, a multiple of 8
};
template <class U>
struct FieldKernels {
  // top[i] = x[i] without its sign, shifted right by `low`, of which 16 bits remain. Returns the low bits that are set in any number.
  U (*tops)(const U* x, size_t n, int low, u16* top);
  // Writes the rests of n numbers into their places in the planes.
  void (*put_rests)(const U* x, size_t n, const RestPlanes& p, u8* planes);
  // Reads them.
  void (*take_rests)(const u8* planes, size_t n, const RestPlanes& p, U* rest);
  // x[i] = the number with the top bits top[symbol[i]] and the rest in its place.
  void (*join)(const u8* planes, const u8* symbol, const U* top, size_t n, const RestPlanes& p, U* x);
};

}  // namespace stz
