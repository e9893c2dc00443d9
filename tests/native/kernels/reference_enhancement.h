// Plain loops for the kernels of enhancement.
#pragma once
#include "harness.h"

namespace check {
namespace {

template <class T>
void to_units(const T* x, int n, double inverse, i16* units) {
  for (int i = 0; i < n; i++) {
    const double shifted = double(x[i]) * inverse + 6755399441055744.0;  // 1.5 x 2^52: an integer in the low bits
    u64 bits;
    memcpy(&bits, &shifted, sizeof bits);
    units[i] = i16(u16(bits));
  }
}

template <class T>
void subtract_units(T* x, const i16* units, int n, T unit) {
  for (int i = 0; i < n; i++) x[i] = x[i] - T(units[i]) * unit;
}

// i16 from any sum, modulo 2^16.
inline i16 wrapped(i64 v) { return i16(u16(v)); }

void enhancement(const EnhancementRow& row, int n, i16* negative) {
  static constexpr i16 clips[3] = {32, 128, 512};
  for (int x = 0; x < n; x++) {
    i64 sum = 0;
    for (int d = 0; d < row.directions; d++) {
      const std::ptrdiff_t o = row.offset[d];
      i16 f = wrapped(2 * i64(row.units[x]) - row.units[x - o] - row.units[x + o]);
      if (row.valid && !(row.valid[x - o] && row.valid[x + o])) f = 0;
      for (int c = 0; c < 3; c++) {
        const i64 clipped = 32 * std::clamp<i16>(f, i16(-clips[c]), clips[c]);
        const i16 weight = wrapped(i64(row.weights[3 * d + c] >> (x % 2 ? 16 : 0)));
        sum += (clipped * weight + (1 << 14)) >> 15;
      }
    }
    negative[x] = std::clamp<i16>(wrapped(sum), i16(-row.limit), row.limit);
  }
}

}  // namespace
}  // namespace check
