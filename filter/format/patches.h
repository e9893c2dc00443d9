// The table of a patched stream: a base, which is a whole stream of the same array, and boxes of it that were written later, each a stream
// of its own. The patches lie over the base in the order of the table. Byte by byte: docs/format.md, "Patched form".
#pragma once
#include "base/bytes.h"
#include "base/element_type.h"

namespace stz {

struct Header;

struct Patch {
  u64 origin[STZ_MAX_RANK] = {};
  u64 extent[STZ_MAX_RANK] = {};
  bool transparent = false;  // elements all of whose components have the bits `pattern` leave what is below
  u64 pattern = 0;
  u64 offset = 0;  // of its stream, from the beginning of the patched stream
  u64 size = 0;
};

constexpr u64 max_patches = 4096;
constexpr u64 max_patch_entry_size = (2 * STZ_MAX_RANK + 1) * 10 + 1 + 8;  // bytes of the table: varints, flags, pattern
// All patches together have at most this many times the elements of the array, which limits a decoder's work.
constexpr u64 max_patched_elements = 16;

// A complete header, its checksum included, for the streams of h.patches and for a base of h.base_size bytes, which follow it in this
// order.
Bytes write_patched_header(const Header& h);
// Reads what follows the common fields. Fails unless every box lies inside the array. Does not set h.size, nor offsets; without `keep`
// nothing at all: patches take much more memory than their entries, and none before the check behind the table has been verified.
void read_patch_table(ByteReader& in, Header& h, bool keep);
// The places of the streams in the patched stream, once h.size is known. Fails on overflow.
void set_patch_offsets(Header& h);

// The layout that the stream of a patch has.
stz_layout patch_layout(const stz_layout& array, const Patch& patch);
// Fails unless the header of a patch's or of the base's stream is one for such an array, and no patched stream.
void require_inner_stream(const Header& inner, const stz_layout& expected);

// Puts the elements of a patch, or of a part of it, into a box of an array. Those that are transparent leave what is there.
void lay_over(const stz_layout& array, const u64* origin, const u64* extent, const Patch& patch, const u8* elements, u8* out);

}  // namespace stz
