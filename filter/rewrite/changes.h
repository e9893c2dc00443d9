// Finds the elements of an array that differ from its decoded last stream.
#pragma once
#include "base/buffer.h"
#include "stz.h"

namespace stz {

enum class Change : u8 {
  kept = 0,   // the bits are those of the old stream: they have to stay as they are
  fresh = 1,  // a program wrote another value
  free = 2,   // the same bits, of a value that every stream stores exactly: NaN, an infinity, the fill value
};

struct Changes {
  Buffer<u8> state;  // a Change for each element
  u64 kept = 0, fresh = 0;
};

// `marks` has one byte for each element. Sets `mark` in those whose elements have the same bits in both arrays. Returns how many.
u64 mark_equal(const stz_layout& layout, const u8* before, const u8* now, u8 mark, u8* marks);

// `marks` becomes the state: kept where it has `mark`, else fresh.
Changes find_changes(const stz_layout& layout, Buffer<u8> marks, u8 mark, const u8* now, const stz_options& options);

}  // namespace stz
