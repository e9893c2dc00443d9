#include "format/repeats.h"

#include <algorithm>

#include "format/convert.h"
#include "format/frame.h"

namespace stz {
namespace {

bool are_disjoint(int rank, const u64* origin, const u64* extent, const u64* other_origin, const u64* other_extent) {
  for (int a = 0; a < rank; a++)
    if (origin[a] + extent[a] <= other_origin[a] || other_origin[a] + other_extent[a] <= origin[a]) return true;
  return false;
}

// Calls row(first element in the box, the element of the source that belongs to it, number of elements, step in the source).
template <class Row>
void for_paired_rows(int rank, const Repeat& repeat, const u64* extent, Row row) {
  const int last = rank - 1;
  const auto mirrored = [&](int a) { return repeat.mirrored >> a & 1; };
  u64 at[STZ_MAX_RANK] = {}, rows = 1;
  for (int a = 0; a < last; a++) rows *= extent[a];
  for (u64 r = 0; r < rows; r++) {
    u64 other = 0;
    for (int a = 0; a < last; a++) other = other * extent[a] + (mirrored(a) ? extent[a] - 1 - at[a] : at[a]);
    other = other * extent[last] + (mirrored(last) ? extent[last] - 1 : 0);
    row(r * extent[last], other, extent[last], mirrored(last) ? i64(-1) : i64(1));
    for (int a = last - 1; a >= 0; a--) {
      if (++at[a] < extent[a]) break;
      at[a] = 0;
    }
  }
}

template <class U, class F>
void combine_boxes(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* elements, F f) {
  const bool swap = swapped(h.layout);
  const U sign = repeat.negated ? U(U(1) << (8 * sizeof(U) - 1)) : U(0);
  for_paired_rows(h.layout.rank, repeat, extent, [&](u64 first, u64 other, u64 count, i64 step) {
    u8* to = elements + first * sizeof(U);
    const u8* from = others + other * sizeof(U);
    for (u64 i = 0; i < count; i++, to += sizeof(U), from += step * i64(sizeof(U)))
      store_bits(to, f(U(load_bits(to, sizeof(U), swap)), place_in_order(U(U(load_bits(from, sizeof(U), swap)) ^ sign))), sizeof(U), swap);
  });
}

template <class F>
void combine_all_boxes(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* elements, F f) {
  switch (component_size(h.layout.dtype)) {
    case 1:
      return combine_boxes<u8>(h, repeat, extent, others, elements, f);
    case 2:
      return combine_boxes<u16>(h, repeat, extent, others, elements, f);
    case 4:
      return combine_boxes<u32>(h, repeat, extent, others, elements, f);
    default:
      return combine_boxes<u64>(h, repeat, extent, others, elements, f);
  }
}

}  // namespace

Bytes write_repeats(const Header& h) {
  Bytes payload;
  for (const Repeat& repeat : h.repeats) {
    for (int a = 0; a < h.layout.rank; a++) put_varint(payload, repeat.source[a]);
    put_varint(payload, u64(repeat.mirrored) << 1 | u64(repeat.negated));
  }
  return payload;
}

void read_repeats(ByteReader& payload, const Header& h, std::vector<Repeat>& repeats) {
  require(payload.left() > 0 && h.layout.rank > 0, STZ_ERROR_CORRUPT);
  while (payload.left()) {
    require(repeats.size() < most_repeats, STZ_ERROR_CORRUPT);
    Repeat repeat;
    for (int a = 0; a < h.layout.rank; a++) repeat.source[a] = payload.varint();
    const u64 how = payload.varint();
    require(how >> 1 >> h.layout.rank == 0, STZ_ERROR_CORRUPT);
    repeat.negated = how & 1;
    repeat.mirrored = u32(how >> 1);
    repeats.push_back(repeat);
  }
}

void require_repeats(const Header& h) {
  if (h.repeats.empty()) return;
  const bool exact = h.mode == STZ_LOSSLESS && !h.bound_used && h.accumulated_bound == 0 && h.exact_size == 0;
  const bool numbers = is_floating(h.layout.dtype) && components(h.layout.dtype) == 1;
  require(exact && numbers && h.repeats.size() == h.patches.size(), STZ_ERROR_CORRUPT);
  for (size_t k = 0; k < h.patches.size(); k++) {
    const Patch& patch = h.patches[k];
    const Repeat& repeat = h.repeats[k];
    for (int a = 0; a < h.layout.rank; a++)
      require(repeat.source[a] < h.layout.shape[a] && patch.extent[a] <= h.layout.shape[a] - repeat.source[a], STZ_ERROR_CORRUPT);
    require(!patch.transparent && are_disjoint(h.layout.rank, patch.origin, patch.extent, repeat.source, patch.extent), STZ_ERROR_CORRUPT);
    // As no two boxes have an element in common, a partial read reads at most most_repeats + 1 times the elements that it is asked for.
    for (size_t i = 0; i < k; i++)
      require(are_disjoint(h.layout.rank, patch.origin, patch.extent, h.patches[i].origin, h.patches[i].extent), STZ_ERROR_CORRUPT);
  }
}

stz_layout patch_layout(const Header& h, const Patch& patch) {
  stz_layout layout = patch_layout(h.layout, patch);
  if (h.repeats.empty()) return layout;
  const size_t width = component_size(layout.dtype);
  layout.dtype = width == 1 ? STZ_I8 : width == 2 ? STZ_I16 : width == 4 ? STZ_I32 : STZ_I64;
  return layout;
}

void add_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* differences) {
  combine_all_boxes(h, repeat, extent, others, differences, [](auto difference, auto other) {
    using U = decltype(other);
    return place_in_order(U(other + difference));
  });
}

void take_differences(const Header& h, const Repeat& repeat, const u64* extent, const u8* others, u8* elements) {
  combine_all_boxes(h, repeat, extent, others, elements, [](auto bits, auto other) {
    using U = decltype(other);
    return U(place_in_order(bits) - other);
  });
}

}  // namespace stz
