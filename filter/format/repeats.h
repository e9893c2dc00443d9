// Repeats: boxes of an array that nearly equal boxes elsewhere in it, as in maps of symmetric molecules and of crystals. A patched stream
// with record 19 stores such a box as differences from the other box, its source. Byte by byte: docs/format.md, "Repeats".
#pragma once
#include <vector>

#include "base/bytes.h"
#include "stz.h"

namespace stz {

struct Header;
struct Patch;

// The source of a patch: what its elements are differences from.
struct Repeat {
  u64 source[STZ_MAX_RANK] = {};  // lowest corner of the source, which has the extent of the patch
  u32 mirrored = 0;               // bit a: the source is read backwards along axis a
  bool negated = false;           // the signs of the source's elements are inverted
};

constexpr size_t most_repeats = 8;

Bytes write_repeats(const Header& h);
// `h`: its layout is known.
void read_repeats(ByteReader& payload, const Header& h, std::vector<Repeat>& repeats);
// Fails unless the header's other fields, and its patches, allow repeats.
void require_repeats(const Header& h);

// The layout of a patch's stream: of its elements or, in a stream with repeats, of differences.
stz_layout patch_layout(const Header& h, const Patch& patch);

// The place of a number in the order of numbers, a signed integer, from its bits; also the bits from the place. Negative numbers come
// before positive ones, and -0 before 0. Differences of places wrap around.
template <class U>
U place_in_order(U bits) {
  constexpr int sign = 8 * sizeof(U) - 1;
  return bits ^ (U(U(0) - (bits >> sign)) >> 1);
}

// Change differences into elements, or elements into differences, in place. `extent`: of a part of a patch. `others`: the part of the
// source that belongs to it, in the order of the array.
void add_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* differences);
void take_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* elements);

}  // namespace stz
