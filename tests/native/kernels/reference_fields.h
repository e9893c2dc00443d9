// Plain loops for the kernels of floating-point fields.
#pragma once
#include "harness.h"

namespace check {
namespace {

// Calls f(its first bit, its bits) for each plane of rests of so many bits.
template <class F>
void for_planes(int bits, F f) {
  int first = 0;
  for (int plane : {32, 16, 8})
    if (bits - first >= plane) {
      f(first, plane);
      first += plane;
    }
  if (first < bits) f(first, bits - first);
}

// Where a bit of the plane with the bits [first, first + width) is that has bit `b` of rest number i.
inline size_t bit_of_rest(int first, int width, int b, size_t all, size_t i) {
  return size_t(first) * all + i * size_t(width) + size_t(b - first);
}

template <class U>
U tops(const U* x, size_t n, int low, u16* top) {
  U any = 0;
  for (size_t i = 0; i < n; i++) {
    const u64 magnitude = u64(x[i]) & (~u64(0) >> (65 - 8 * sizeof(U)));
    top[i] = u16(magnitude >> low);
    any |= U(magnitude % (u64(1) << low));
  }
  return any;
}

template <class U>
void put_rests(const U* x, size_t n, const RestPlanes& p, u8* planes) {
  for_planes(p.low + 1 - p.zeros, [&](int first, int width) {
    const size_t from = bit_of_rest(first, width, first, p.all, p.first), to = bit_of_rest(first, width, first, p.all, p.first + n);
    std::fill(planes + from / 8, planes + (to + 7) / 8, u8(0));
    for (size_t i = 0; i < n; i++)
      for (int b = first; b < first + width; b++) {
        const int of_number = b + p.zeros == p.low ? 8 * int(sizeof(U)) - 1 : b + p.zeros;  // the sign, or a bit of the mantissa
        const size_t at = bit_of_rest(first, width, b, p.all, p.first + i);
        planes[at / 8] = u8(planes[at / 8] | (u64(x[i]) >> of_number & 1) << at % 8);
      }
  });
}

template <class U>
void take_rests(const u8* planes, size_t n, const RestPlanes& p, U* rest) {
  std::fill(rest, rest + n, U(0));
  for_planes(p.low + 1 - p.zeros, [&](int first, int width) {
    for (size_t i = 0; i < n; i++)
      for (int b = first; b < first + width; b++) {
        const size_t at = bit_of_rest(first, width, b, p.all, p.first + i);
        rest[i] = U(rest[i] | u64(planes[at / 8] >> at % 8 & 1) << b);
      }
  });
}

template <class U>
void join_fields(const u8* planes, const u8* symbol, const U* top, size_t n, const RestPlanes& p, U* x) {
  take_rests(planes, n, p, x);
  for (size_t i = 0; i < n; i++) {
    const u64 rest = u64(x[i]) << p.zeros, sign = rest >> p.low;
    x[i] = U(sign << (8 * sizeof(U) - 1) | top[symbol[i]] | rest % (u64(1) << p.low));
  }
}

}  // namespace
}  // namespace check
