#include "rewrite/parts.h"

#include <algorithm>

#include "base/faults.h"
#include "encoder/encode.h"
#include "grid/box_rows.h"

namespace stz {
namespace {

bool fits(const Bytes& stream, const stz_layout& layout) { return stream.size() <= array_bytes(layout) + 64; }

void drop_superseded(const stz_layout& layout, Parts& parts) {
  const auto first_new = parts.patches.end() - i64(parts.new_streams.size());
  const std::vector<Patch> added(first_new, parts.patches.end());
  const auto superseded = [&](const Patch& old) {
    return std::any_of(added.begin(), added.end(), [&](const Patch& patch) { return !patch.transparent && contains(layout, patch, old); });
  };
  parts.patches.erase(std::remove_if(parts.patches.begin(), first_new, superseded), first_new);
}

bool base_is_hidden(const stz_layout& layout, const Parts& parts) {
  const u64 elements = element_count(layout);
  u64 covered = 0;
  for (const Patch& patch : parts.patches)
    if (!patch.transparent) covered += element_count(patch_layout(layout, patch));
  if (covered < elements) return false;
  std::vector<u8> seen(size_t(elements), 1);
  for (const Patch& patch : parts.patches)
    if (!patch.transparent)
      for_box_rows(layout, patch.origin, patch.extent,
                   [&](u64 in_array, u64, u64 count) { memset(&seen[size_t(in_array)], 0, size_t(count)); });
  return std::find(seen.begin(), seen.end(), 1) == seen.end();
}

Bytes zero_stream(const stz_layout& layout) {
  const std::vector<u8> zeros(size_t(array_bytes(layout)), 0);
  const stz_options options = STZ_OPTIONS_INIT;
  return encode(layout, zeros.data(), options);
}

}  // namespace

bool contains(const stz_layout& layout, const Patch& outer, const Patch& inner) {
  for (int a = 0; a < layout.rank; a++)
    if (inner.origin[a] < outer.origin[a] || inner.origin[a] + inner.extent[a] > outer.origin[a] + outer.extent[a]) return false;
  return true;
}

void drop_hidden(const stz_layout& layout, Parts& parts) {
  drop_superseded(layout, parts);
  if (base_is_hidden(layout, parts)) parts.new_base = zero_stream(layout);
}

BaseStream base_of(const Parts& parts, const Header& old, const u8* previous, size_t size) {
  if (!parts.new_base.empty()) return {parts.new_base.data(), parts.new_base.size()};
  if (old.form == Form::patched) return {previous + old.base_offset, size_t(old.base_size)};
  return {previous, size};
}

Bytes join(Header h, const Parts& parts, const BaseStream& base, const u8* previous) {
  u64 patched = 0;
  for (const Patch& patch : parts.patches) patched += element_count(patch_layout(h.layout, patch));
  if (parts.patches.size() > max_patches || patched > max_patched_elements * element_count(h.layout)) return {};
  h.form = Form::patched;
  h.patches = parts.patches;
  for ([[maybe_unused]] Patch& patch : h.patches) STZ_FAULT_POINT(patch_origin, patch.origin, size_t(h.layout.rank) * sizeof(u64));
  h.base_size = base.size;
  Bytes out = write_patched_header(h);
  const size_t kept = parts.patches.size() - parts.new_streams.size();
  for (size_t i = 0; i < kept; i++) {
    const u8* const stream = previous + parts.patches[i].offset;
    out.insert(out.end(), stream, stream + parts.patches[i].size);
  }
  for (const Bytes& stream : parts.new_streams) out.insert(out.end(), stream.begin(), stream.end());
  out.insert(out.end(), base.data, base.data + base.size);
  return fits(out, h.layout) ? out : Bytes();
}

Bytes with_exact_size(Bytes stream, u64 exact_size) {
  Header h = read_header(stream.data(), stream.size());
  if (h.form != Form::patched) return stream;
  h.exact_size = exact_size;
  Bytes out = write_patched_header(h);
  out.insert(out.end(), stream.begin() + i64(h.size), stream.end());
  return fits(out, h.layout) ? out : stream;
}

}  // namespace stz
