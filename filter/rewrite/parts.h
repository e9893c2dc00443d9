// The streams of which a patched one is made: a base and patches, each kept from the previous stream or new.
#pragma once
#include <vector>

#include "format/frame.h"

namespace stz {

struct Parts {
  Bytes new_base;  // replaces the previous one unless it is empty
  std::vector<Patch> patches;
  std::vector<Bytes> new_streams;  // of the last patches; the others are in the previous stream, at patch.offset
};

// Is the box of a patch inside that of another one?
bool contains(const stz_layout& layout, const Patch& outer, const Patch& inner);

// Drops each patch of the previous stream that one new patch hides altogether. A base of which nothing can be seen any more becomes a
// constant.
void drop_hidden(const stz_layout& layout, Parts& parts);

// The base of the parts: the new one, or that of the previous stream, whose header is `old`.
struct BaseStream {
  const u8* data;
  size_t size;
};
BaseStream base_of(const Parts& parts, const Header& old, const u8* previous, size_t size);

// The patched stream. `h` has what it states: its errors, its fill value, its block. The result is empty if a stream may not have so many
// patches or so many elements in them, or if it takes more than the array and 64 bytes.
Bytes join(Header h, const Parts& parts, const BaseStream& base, const u8* previous);

// A patched stream with another number in its record of the exact size. Any other stream stays as it is.
Bytes with_exact_size(Bytes stream, u64 exact_size);

}  // namespace stz
