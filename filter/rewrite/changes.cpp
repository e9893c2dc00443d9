#include "rewrite/changes.h"

#include <utility>

#include "format/convert.h"

namespace stz {
namespace {

template <class Word>
u64 compare(const u8* before, const u8* now, u64 elements, u8 mark, u8* marks) {
  u64 count = 0;
  for (u64 i = 0; i < elements; i++) {
    Word a, b;
    memcpy(&a, before + i * sizeof a, sizeof a);
    memcpy(&b, now + i * sizeof b, sizeof b);
    const bool differ = a != b;
    marks[i] |= differ ? u8(0) : mark;
    count += !differ;
  }
  return count;
}

struct TwoWords {
  u64 low, high;
  bool operator!=(const TwoWords& other) const { return ((low ^ other.low) | (high ^ other.high)) != 0; }
};

}  // namespace

u64 mark_equal(const stz_layout& layout, const u8* before, const u8* now, u8 mark, u8* marks) {
  const u64 elements = element_count(layout);
  switch (element_size(layout.dtype)) {
    case 1:
      return compare<u8>(before, now, elements, mark, marks);
    case 2:
      return compare<u16>(before, now, elements, mark, marks);
    case 4:
      return compare<u32>(before, now, elements, mark, marks);
    case 8:
      return compare<u64>(before, now, elements, mark, marks);
    default:
      return compare<TwoWords>(before, now, elements, mark, marks);
  }
}

Changes find_changes(const stz_layout& layout, Buffer<u8> marks, u8 mark, const u8* now, const stz_options& options) {
  const u64 elements = element_count(layout);
  const size_t element = element_size(layout.dtype), width = component_size(layout.dtype);
  Changes changes;
  changes.state = std::move(marks);
  u8* const state = changes.state.data();
  for (u64 i = 0; i < elements; i++) {
    state[i] = u8(state[i] & mark ? Change::kept : Change::fresh);
    changes.fresh += state[i];
  }
  const bool floating = is_floating(layout.dtype), swap = swapped(layout);
  changes.kept = elements - changes.fresh;
  if (!floating && !options.has_fill) return changes;
  const SpecialValues special(floating ? layout.dtype : i32(STZ_F64));
  const u64 fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  auto exact_anyway = [&](const u8* at) {
    for (size_t part = 0; part < element; part += width) {
      const u64 bits = load_bits(at + part, width, swap);
      if (!(floating && special.special(bits)) && !(options.has_fill && bits == fill)) return false;
    }
    return true;
  };
  for (u64 i = 0; i < elements; i++)
    if (state[i] == u8(Change::kept) && exact_anyway(now + i * element)) {
      state[i] = u8(Change::free);
      changes.kept--;
    }
  return changes;
}

}  // namespace stz
