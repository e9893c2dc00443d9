// Repeats: boxes of an array that are nearly boxes elsewhere in it, as in maps of symmetric molecules and of crystals. A patched stream
// with record 19 stores such a box as differences from the other one. Byte by byte: docs/format.md, "Repeats".
#pragma once
#include <vector>

#include "base/bytes.h"
#include "stz.h"

namespace stz {

struct Header;
struct Patch;

// Where the elements of a patch come from.
struct Repeat {
  u64 source[STZ_MAX_RANK] = {};  // lowest corner of the other box, which has the extent of the patch
  u32 mirrored = 0;               // bit a: along axis a the other box is read backwards
  bool negated = false;           // the elements of the other box have the other sign
};

constexpr size_t most_repeats = 8;

Bytes write_repeats(const Header& h);
// `h`: its layout is known.
void read_repeats(ByteReader& payload, const Header& h, std::vector<Repeat>& repeats);
// Fails unless the header's other fields, and its patches, allow repeats.
void require_repeats(const Header& h);

// The layout of a patch's stream: of its elements or, in a stream with repeats, of differences.
stz_layout patch_layout(const Header& h, const Patch& patch);

// The difference of two elements' places in the order of numbers, and the element that has such a difference from another one. Negative
// numbers come before positive ones, and -0 before 0; differences wrap around.
template <class U>
U place_in_order(U bits) {
  constexpr int sign = 8 * sizeof(U) - 1;
  return bits ^ (U(U(0) - (bits >> sign)) >> 1);
}

// Part of a box: `extent` of its elements along each axis, and as many of the other box, both in their own order in memory. Changes
// differences into elements, or elements into differences.
void add_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* differences);
void take_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* elements);

}  // namespace stz
