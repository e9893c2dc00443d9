// Encodes a patch: the elements of a box that are in one state, as a stream of its own.
#pragma once
#include "format/patches.h"
#include "rewrite/boxes.h"

namespace stz {

struct EncodedPatch {
  Patch patch;
  Bytes stream;
};

// Compresses the elements of `box` that are in state `wanted`, or are free, with `options`. The patch is transparent at all other elements.
// Returns false if that is impossible: an integer type may have no unused value to mark transparent elements.
bool encode_patch(const stz_layout& layout, const u8* data, const Changes& changes, Change wanted, const ChangedBox& box,
                  stz_options options, EncodedPatch& result);

}  // namespace stz
