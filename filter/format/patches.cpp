#include "format/patches.h"

#include <algorithm>

#include "base/faults.h"
#include "coding/checksum.h"
#include "format/convert.h"
#include "format/frame.h"
#include "grid/box_rows.h"

namespace stz {
namespace {

constexpr u8 patch_transparent = 1;

void put_bits(Bytes& out, u64 bits, size_t width) {
  for (size_t i = 0; i < width; i++) out.push_back(u8(bits >> (8 * i)));
}

u64 get_bits(ByteReader& in, size_t width) {
  const u8* p = in.take(width);
  u64 bits = 0;
  for (size_t i = 0; i < width; i++) bits |= u64(p[i]) << (8 * i);
  return bits;
}

void read_box(ByteReader& in, const stz_layout& array, Patch& patch) {
  for (int a = 0; a < array.rank; a++) {
    patch.origin[a] = in.varint();
    require(patch.origin[a] < array.shape[a], STZ_ERROR_CORRUPT);
  }
  for (int a = 0; a < array.rank; a++) {
    patch.extent[a] = in.varint();
    require(patch.extent[a] > 0 && patch.extent[a] <= array.shape[a] - patch.origin[a], STZ_ERROR_CORRUPT);
  }
}

template <size_t element>
void lay_over_transparent(const stz_layout& array, const u64* origin, const u64* extent, const u8* pattern, const u8* elements, u8* out) {
  for_box_rows(array, origin, extent, [&](u64 in_array, u64 in_box, u64 count) {
    u8* to = out + in_array * element;
    const u8* from = elements + in_box * element;
    for (u64 i = 0; i < count; i++, to += element, from += element)
      if (memcmp(from, pattern, element) != 0) memcpy(to, from, element);
  });
}

}  // namespace

Bytes write_patched_header(const Header& h) {
  Bytes out = write_header(h);
  const int rank = h.layout.rank;
  put_varint(out, h.patches.size());
  put_varint(out, h.base_size);
  for (const Patch& patch : h.patches) {
    for (int a = 0; a < rank; a++) put_varint(out, patch.origin[a]);
    for (int a = 0; a < rank; a++) put_varint(out, patch.extent[a]);
    out.push_back(patch.transparent ? patch_transparent : u8(0));
    if (patch.transparent) put_bits(out, patch.pattern, component_size(h.layout.dtype));
    put_varint(out, patch.size);
  }
  STZ_FAULT_POINT(header, out.data(), out.size());
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

void read_patch_table(ByteReader& in, Header& h, bool keep) {
  require(element_count(h.layout) > 0, STZ_ERROR_CORRUPT);
  const u64 count = in.varint();
  require(count >= 1 && count <= max_patches, STZ_ERROR_CORRUPT);
  const u64 base_size = in.varint();
  if (keep) h.base_size = base_size;
  if (keep) h.patches.reserve(size_t(count));
  u64 elements = 0;
  for (u64 i = 0; i < count; i++) {
    Patch patch;
    read_box(in, h.layout, patch);
    const u8 flags = in.get<u8>();
    require(flags <= patch_transparent, STZ_ERROR_VERSION);
    patch.transparent = flags & patch_transparent;
    if (patch.transparent) patch.pattern = get_bits(in, component_size(h.layout.dtype));
    patch.size = in.varint();
    elements += element_count(patch_layout(h.layout, patch));
    require(elements <= max_patched_elements * element_count(h.layout), STZ_ERROR_CORRUPT);
    if (keep) h.patches.push_back(patch);
  }
}

void set_patch_offsets(Header& h) {
  u64 end = h.size;
  for (Patch& patch : h.patches) {
    patch.offset = end;
    require(!__builtin_add_overflow(end, patch.size, &end), STZ_ERROR_CORRUPT);
  }
  h.base_offset = end;
  require(!__builtin_add_overflow(end, h.base_size, &end), STZ_ERROR_CORRUPT);
}

stz_layout patch_layout(const stz_layout& array, const Patch& patch) {
  stz_layout layout = array;
  std::copy(patch.extent, patch.extent + array.rank, layout.shape);
  return layout;
}

void require_inner_stream(const Header& outer, const Header& inner, const stz_layout& expected) {
  const stz_layout& layout = inner.layout;
  require(outer.repeats.empty() || inner.mode == STZ_LOSSLESS, STZ_ERROR_CORRUPT);
  require(inner.form != Form::patched && layout.dtype == expected.dtype && layout.byte_order == expected.byte_order &&
              layout.rank == expected.rank && std::equal(layout.shape, layout.shape + layout.rank, expected.shape),
          STZ_ERROR_CORRUPT);
}

void take_box(const stz_layout& array, const u64* origin, const u64* extent, const u8* elements, u8* box) {
  const size_t element = element_size(array.dtype);
  for_box_rows(array, origin, extent, [&](u64 in_array, u64 in_box, u64 count) {
    memcpy(box + in_box * element, elements + in_array * element, count * element);
  });
}

void lay_over(const stz_layout& array, const u64* origin, const u64* extent, const Patch& patch, const u8* elements, u8* out) {
  const size_t element = element_size(array.dtype), width = component_size(array.dtype);
  if (!patch.transparent) {
    for_box_rows(array, origin, extent, [&](u64 in_array, u64 in_box, u64 count) {
      memcpy(out + in_array * element, elements + in_box * element, count * element);
    });
    return;
  }
  u8 pattern[16];
  for (size_t at = 0; at < element; at += width) store_bits(pattern + at, patch.pattern, width, swapped(array));
  switch (element) {
    case 1:
      return lay_over_transparent<1>(array, origin, extent, pattern, elements, out);
    case 2:
      return lay_over_transparent<2>(array, origin, extent, pattern, elements, out);
    case 4:
      return lay_over_transparent<4>(array, origin, extent, pattern, elements, out);
    case 8:
      return lay_over_transparent<8>(array, origin, extent, pattern, elements, out);
    default:
      return lay_over_transparent<16>(array, origin, extent, pattern, elements, out);
  }
}

}  // namespace stz
