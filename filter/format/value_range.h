// The range that decoded values keep: elements that are not masked are brought into it after everything else, so that none is farther from
// the original than before. Predictions never see that. Record 7 of the header. Byte by byte: docs/format.md, "Range of values".
#pragma once
#include "base/bytes.h"
#include "simd/kernels.h"

namespace stz {

struct Header;

struct ValueRange {
  enum End : u8 { open = 0, at_zero = 1, stated = 2 };
  struct {
    u8 kind = open;
    u64 bits = 0;  // of a component
  } low, high;
  bool any() const { return low.kind != open || high.kind != open; }
};

// The payload of the record tag_value_range.
Bytes write_value_range(const ValueRange& range, size_t width);
// `h`: its dtype is known.
void read_value_range(ByteReader& payload, const Header& h, ValueRange& range);

// Whether the number of the first component is below that of the second.
bool components_below(i32 dtype, u64 a, u64 b);

// Brings the bits of components into the range of the header: of one, and of n contiguous little-endian ones.
u64 in_range(const Header& h, u64 bits);
void bring_into_range(const Header& h, u8* components, i64 n);

// The range of samples that are elements (samples_are_elements), or of any if the header has none.
template <class S>
Limits<S> limits_of(const Header& h);

// Copies samples to elements at any address.
template <class S>
void copy_within(const Limits<S>& limits, const S* samples, i64 n, u8* out) {
  for (i64 i = 0; i < n; i++) {
    const S v = limits(samples[i]);
    memcpy(out + size_t(i) * sizeof(S), &v, sizeof(S));
  }
}

}  // namespace stz
