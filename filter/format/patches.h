// The table of a patched stream. Its base is a complete stream of the array; its patches are boxes that were written later, each a stream
// of its own. Patches lie over the base in the order of the table. Byte by byte: docs/format.md, "Patched form".
#pragma once
#include "base/bytes.h"
#include "base/element_type.h"

namespace stz {

struct Header;

struct Patch {
  u64 origin[STZ_MAX_RANK] = {};
  u64 extent[STZ_MAX_RANK] = {};
  bool transparent = false;  // an element whose components all have the bits `pattern` leaves what is below
  u64 pattern = 0;
  u64 offset = 0;  // of the patch's stream, from the beginning of the patched stream
  u64 size = 0;
};

constexpr u64 max_patches = 4096;
constexpr u64 max_patch_entry_size = (2 * STZ_MAX_RANK + 1) * 10 + 1 + 8;  // in the table: varints, flags, pattern
// Most elements of all patches together, as a multiple of the array's. This limits a decoder's work.
constexpr u64 max_patched_elements = 16;

// Writes a complete header with its checksum. The streams of h.patches and a base of h.base_size bytes follow it in this order.
Bytes write_patched_header(const Header& h);
// Reads the fields after the common ones. Fails unless every box lies inside the array. Sets neither h.size nor offsets. Without `keep`
// nothing is stored: patches take much more memory than their entries, so the check behind the table is verified first.
void read_patch_table(ByteReader& in, Header& h, bool keep);
// Sets the offsets of all streams, once h.size is known. Fails on overflow.
void set_patch_offsets(Header& h);

// The layout of a patch's stream.
stz_layout patch_layout(const stz_layout& array, const Patch& patch);
// Fails unless `inner`, the header of a patch or of the base, has this layout and is not itself patched; with repeats it must be lossless.
void require_inner_stream(const Header& outer, const Header& inner, const stz_layout& expected);

// Copies the elements of a box of an array.
void take_box(const stz_layout& array, const u64* origin, const u64* extent, const u8* elements, u8* box);
// Copies the elements of a patch, or of a part of it, into a box of an array. Transparent elements leave what is there.
void lay_over(const stz_layout& array, const u64* origin, const u64* extent, const Patch& patch, const u8* elements, u8* out);

}  // namespace stz
