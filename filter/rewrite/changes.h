// Finds the elements of an array that differ from what its previous stream decodes to.
#pragma once
#include "base/buffer.h"
#include "stz.h"

namespace stz {

enum class Change : u8 {
  kept = 0,   // same bits as decoded from the old stream: they must stay as they are
  fresh = 1,  // a program wrote another value
  // same bits, but every stream stores this value exactly: NaN, an infinity, the fill value
  free = 2,
};

struct Changes {
  Buffer<u8> state;  // a Change for each element
  u64 kept = 0, fresh = 0;
};

// Sets `mark` in the mark bytes (one per element) of elements that have the same bits in both arrays. Returns how many have.
u64 mark_equal(const stz_layout& layout, const u8* before, const u8* now, u8 mark, u8* marks);

// Turns `marks` into states: kept (or free) where `mark` is set, else fresh.
Changes find_changes(const stz_layout& layout, Buffer<u8> marks, u8 mark, const u8* now, const stz_options& options);

}  // namespace stz
