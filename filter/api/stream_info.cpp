#include "api/stream_info.h"

#include <algorithm>

#include "masks/content_check.h"

namespace stz {
namespace {

struct FormText {
  const char *alone, *patched, *repeated;  // for a stream of this form; for a patched stream, and one with repeats, with such a base
};
#define STZ_FORM(text) {text, "patched: " text, "repeats: " text}

FormText form_text(const Header& h) {
  if (h.fields.any()) return STZ_FORM("floating-point fields");
  if (h.form == Form::raw) return STZ_FORM("raw");
  if (h.form == Form::constant) return STZ_FORM("constant");
  switch (h.quantizer) {
    case QuantizerKind::uniform:
      if (is_integer(h.layout.dtype)) break;
      if (h.remainders.present) return STZ_FORM("blocks of numbers with remainders");
      return STZ_FORM("blocks of numbers");
    case QuantizerKind::ulp:
      return STZ_FORM("blocks of ULP-space numbers");
    default:
      if (h.decimals.any()) return STZ_FORM("blocks of decimals");
      if (h.transform == Transform::fixed_point) return STZ_FORM("blocks of fixed-point numbers");
      if (h.transform == Transform::palette) return STZ_FORM("blocks of ranks in a palette");
  }
  return STZ_FORM("blocks of integers");
}

#undef STZ_FORM

// Raw and constant streams must be complete, unless their header has a check of its own.
void require_plain_stream(const Header& h, const u8* stream, u64 size) {
  if (h.form == Form::raw && !h.fields.any()) require_stream_size(h, size);
  if (h.form == Form::constant) checked_payload(h, stream, size);
}

// The state as in stz_stream_info; -1 (unknown) if the trailer is damaged or not in memory.
i32 content_check_state(const Header& h, const u8* stream, u64 size) {
  if (h.form != Form::blocks || h.trailer_size == 0) return 0;
  try {
    ByteReader payload(nullptr, 0);
    if (size < stream_bytes(h)) return -1;
    return find_content_check(stream + content_bytes(h), size_t(h.trailer_size), payload);
  } catch (const Failure&) {
    return -1;
  }
}

// The largest error of a patched stream when the base is read with some of its layers. Readers add the earlier error in the header of the
// whole, so only what the base had lost beyond it is added here. -1: unknown in the unit of the data.
double with_patches(double error, const Header& h, const Header& base) {
  if (h.mode == STZ_POINTWISE_RELATIVE || earlier_error(h) == __builtin_inf() || earlier_error(base) == __builtin_inf()) return -1;
  return std::max(error + std::max(0.0, earlier_error(base) - earlier_error(h)), h.bound);
}

// The largest error with all layers if it was not measured: the promise of the stream. -1 if that is not in the unit of the data, or if
// bits are missing from the stream.
double promised_error(const Header& h, const Header& base) {
  for (u8 bits : base.layers.missing)
    if (bits != 0) return -1;
  if (!bound_is_used(h) || h.mode == STZ_LOSSLESS) return 0;
  if (h.mode == STZ_POINTWISE_RELATIVE) return -1;
  return base.enhancement.any() ? std::max(h.bound, relaxed_bound(base)) : h.bound;
}

// Fills in the bytes and errors for each number of layers. The bytes before the base of a patched stream count for all of them.
void fill_layers(const Header& h, const Header& of_layers, stz_stream_info& info) {
  const Layers& layers = of_layers.layers;
  info.layers = i32(layers.refinements()) + 1;
  u64 bytes = h.base_offset + content_bytes(of_layers);
  for (u64 n : of_layers.refinement) bytes -= n;
  info.layer_bytes[0] = bytes;
  size_t next = 0;
  for_refinements(layers, [&](size_t r, size_t) { info.layer_bytes[r + 1] = bytes += of_layers.refinement[next++]; });
  const bool patched = h.form == Form::patched;
  for (size_t taken = 0; taken < layers.errors.size(); taken++) {
    const LayerError& measured = layers.errors[taken];
    info.layer_error[taken] = patched ? with_patches(measured.largest, h, of_layers) : measured.largest;
    info.layer_rmse[taken] = patched ? -1 : measured.root_mean_square;  // not measured with the patches
  }
  for (size_t taken = layers.errors.size(); taken <= layers.refinements(); taken++) {
    info.layer_error[taken] = taken == layers.refinements() ? promised_error(h, of_layers) : -1;
    info.layer_rmse[taken] = info.layer_error[taken] == 0 ? 0 : -1;
  }
}

}  // namespace

stz_stream_info stream_info(const Header& h, const Header& levels, const u8* of_levels, size_t size) {
  const bool patched = h.form == Form::patched;
  stz_stream_info info{};
  info.layout = h.layout;
  info.mode = h.mode;
  info.bound = h.bound;
  info.has_fill = h.has_fill;
  info.fill = h.fill;
  info.block = h.block;
  info.format_version = h.version;
  info.array_bytes = array_bytes(h.layout);
  const bool repeats = !h.repeats.empty();
  info.form = repeats ? form_text(levels).repeated : patched ? form_text(levels).patched : form_text(h).alone;
  info.patches = repeats ? 0 : i32(h.patches.size());
  info.bound_used = bound_is_used(h);
  info.accumulated_bound = h.accumulated_bound;
  info.content_check = content_check_state(levels, of_levels, size);
  info.levels = 1;
  info.level_bytes[0] = h.base_offset + content_bytes(levels);
  fill_layers(h, levels, info);
  info.enhanced = levels.enhancement.any();
  info.relaxed_bound = info.enhanced ? std::max(h.bound, relaxed_bound(levels)) : h.bound;
  if (repeats) return info;  // a coarse version or a preview of a box may need its whole source
  if (preview_error(levels) > 0) {
    info.preview_error = preview_error(levels);
    info.preview_bytes = h.base_offset + content_bytes(levels);
    for (u64 n : levels.remainder) info.preview_bytes -= n;
  }
  if (levels.form == Form::blocks) {
    const std::vector<u64>& section = levels.section;  // the stream with these sections is the last one
    require(section.size() <= STZ_MAX_LEVELS, STZ_ERROR_CORRUPT);
    info.levels = i32(section.size());
    u64 end = h.base_offset + sections_offset(levels);
    for (size_t s = 0; s < section.size(); s++) info.level_bytes[section.size() - 1 - s] = end += section[s];
    size_t next = 0;
    for_refinements(levels.layers, [&](size_t, size_t l) {
      end += levels.refinement[next++];
      for (size_t finer = 0; finer <= l; finer++) info.level_bytes[finer] = end;
    });
  }
  return info;
}

stz_stream_info stream_info(const u8* stream, size_t size) {
  const Header header = read_header(stream, size);
  if (header.form != Form::patched) {
    require_plain_stream(header, stream, size);
    return stream_info(header, header, stream, size);
  }
  require(header.base_offset <= size, STZ_ERROR_TRUNCATED);
  const u8* base = stream + header.base_offset;
  const size_t base_size = size - size_t(header.base_offset);
  const Header base_header = read_header(base, base_size);
  require_inner_stream(header, base_header, header.layout);
  require(stream_bytes(base_header) == header.base_size, STZ_ERROR_CORRUPT);
  require_plain_stream(base_header, base, base_size);
  return stream_info(header, base_header, base, base_size);
}

}  // namespace stz
