// The parts of a patched stream: a base and patches, each taken from the previous stream or new.
#pragma once
#include <vector>

#include "format/frame.h"

namespace stz {

struct Parts {
  Bytes new_base;  // replaces the previous base, unless empty
  std::vector<Patch> patches;
  std::vector<Bytes> new_streams;  // streams of the last patches; the others are in the previous stream, at patch.offset
};

// Whether the box of a patch lies inside that of another one.
bool contains(const stz_layout& layout, const Patch& outer, const Patch& inner);

// Drops patches of the previous stream that a single new patch hides completely. Replaces a base that is hidden completely by a constant.
void drop_hidden(const stz_layout& layout, Parts& parts);

// The base to use: the new one, or that of the previous stream, whose header is `old`.
struct BaseStream {
  const u8* data;
  size_t size;
};
BaseStream base_of(const Parts& parts, const Header& old, const u8* previous, size_t size);

// Writes the patched stream. `h` already has its bounds, fill value and block. Returns an empty result if the stream would exceed the
// limits on patches or patched elements, or the size of the array plus 64 bytes.
Bytes join(Header h, const Parts& parts, const BaseStream& base, const u8* previous);

// Returns a patched stream with another number in its record of the exact size. Other streams are returned unchanged.
Bytes with_exact_size(Bytes stream, u64 exact_size);

}  // namespace stz
