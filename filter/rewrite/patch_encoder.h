// A patch: the elements of a box in one state, as a stream of their own.
#pragma once
#include "format/patches.h"
#include "rewrite/boxes.h"

namespace stz {

struct EncodedPatch {
  Patch patch;
  Bytes stream;
};

// Compresses the elements of `box` that are in state `wanted`, or are free, as `options` say. Where others lie between them, the patch is
// transparent there. False if that cannot be said, because integers use every value that could stand for it.
bool encode_patch(const stz_layout& layout, const u8* data, const Changes& changes, Change wanted, const ChangedBox& box,
                  stz_options options, EncodedPatch& result);

}  // namespace stz
