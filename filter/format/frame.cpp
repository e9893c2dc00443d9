#include "format/frame.h"

#include <algorithm>

#include "base/faults.h"
#include "coding/checksum.h"
#include "format/axis_map.h"
#include "format/extensions.h"

namespace stz {
namespace {

constexpr u8 magic[4] = {'S', 'T', 'Z', STZ_FORMAT_VERSION};
constexpr u8 kind_extended = 64;  // extension records follow the fill value

// Flags of form `blocks`, in the order of their fields.
enum Flag : u32 {
  flag_half_step = 1,  // half_step differs from bound
  flag_masked = 2,
  flag_partial = 4,
  flag_offsets = 8,
  flag_level_bounds = 16,
  flag_level_blocks = 32,
  flag_negative = 64,     // logarithmic: the numbers are negative
  flag_throughput = 128,  // the default blocks are those for throughput
};

// Permitted combinations of sample type, quantizer and transform, by element type (the table of docs/format.md).
enum ElementKind : u8 { short_float, single, wide, small_integer, integer_32, integer_64 };
struct Combination {
  ElementKind element;
  SampleType sample;
  QuantizerKind quantizer;
  Transform transform;
};
constexpr Combination combinations[] = {
    {short_float, SampleType::f32, QuantizerKind::uniform, Transform::none},
    {short_float, SampleType::f32, QuantizerKind::integer, Transform::ulp_short},
    {short_float, SampleType::f64, QuantizerKind::uniform, Transform::logarithmic},
    {single, SampleType::f32, QuantizerKind::uniform, Transform::none},
    {single, SampleType::f32, QuantizerKind::ulp, Transform::none},
    {single, SampleType::f32, QuantizerKind::integer, Transform::fixed_point},
    {single, SampleType::f64, QuantizerKind::integer, Transform::fixed_point},
    {single, SampleType::f64, QuantizerKind::uniform, Transform::logarithmic},
    {wide, SampleType::f64, QuantizerKind::uniform, Transform::none},
    {wide, SampleType::f64, QuantizerKind::ulp, Transform::none},
    {wide, SampleType::f32, QuantizerKind::integer, Transform::fixed_point},
    {wide, SampleType::f64, QuantizerKind::integer, Transform::fixed_point},
    {wide, SampleType::f64, QuantizerKind::uniform, Transform::logarithmic},
    {small_integer, SampleType::f32, QuantizerKind::uniform, Transform::none},
    {small_integer, SampleType::f32, QuantizerKind::integer, Transform::none},
    {integer_32, SampleType::f64, QuantizerKind::uniform, Transform::none},
    {integer_32, SampleType::f64, QuantizerKind::integer, Transform::none},
    {integer_64, SampleType::i64, QuantizerKind::integer, Transform::none},
    {short_float, SampleType::f32, QuantizerKind::integer, Transform::palette},
    {single, SampleType::f32, QuantizerKind::integer, Transform::palette},
    {wide, SampleType::f32, QuantizerKind::integer, Transform::palette},
    {small_integer, SampleType::f32, QuantizerKind::integer, Transform::palette},
    {integer_32, SampleType::f32, QuantizerKind::integer, Transform::palette},
    {integer_64, SampleType::f32, QuantizerKind::integer, Transform::palette},
};

ElementKind element_kind(i32 dtype) {
  const size_t width = component_size(dtype);
  if (is_floating(dtype)) return width < 4 ? short_float : width == 4 ? single : wide;
  return width <= 2 ? small_integer : width == 4 ? integer_32 : integer_64;
}

bool known_combination(const Header& h) {
  const ElementKind element = element_kind(h.layout.dtype);
  return std::any_of(std::begin(combinations), std::end(combinations), [&](const Combination& c) {
    return c.element == element && c.sample == h.sample && c.quantizer == h.quantizer && c.transform == h.transform;
  });
}

void put_header_check(Bytes& out) {
  STZ_FAULT_POINT(header, out.data(), out.size());
  put_le<u32>(out, crc32c(out.data(), out.size()));
}

}  // namespace

u64 element_count(const stz_layout& layout) {
  require(layout.rank >= 0 && layout.rank <= STZ_MAX_RANK, STZ_ERROR_SHAPE);
  u64 n = 1;
  bool empty = false;  // other axes are limited too: the header stores their extents
  for (int a = 0; a < layout.rank; a++)
    if (layout.shape[a] == 0)
      empty = true;
    else
      require(!__builtin_mul_overflow(n, layout.shape[a], &n) && n < (u64(1) << 56), STZ_ERROR_SHAPE);
  return empty ? 0 : n;
}

u64 array_bytes(const stz_layout& layout) {
  u64 size = element_size(layout.dtype);
  require(size != 0, STZ_ERROR_DTYPE);
  return element_count(layout) * size;
}

u64 sample_count(const stz_layout& layout) { return element_count(layout) * u64(components(layout.dtype)); }

Bytes write_header(const Header& h) {
  Bytes out(magic, magic + 4);
  const Bytes extensions = write_extensions(h);
  out.push_back(u8(u8(h.form) | h.mode << 2 | int(h.has_fill) << 4 | int(h.block == STZ_BLOCK_REGION) << 5 |
                   (extensions.empty() ? 0 : kind_extended)));
  out.push_back(u8(h.layout.dtype | h.layout.byte_order << 5));
  out.push_back(u8(h.layout.rank));
  for (int a = 0; a < h.layout.rank; a++) put_varint(out, h.layout.shape[a]);
  if (h.mode != STZ_LOSSLESS) put_double(out, h.bound);
  const size_t width = component_size(h.layout.dtype);
  auto put_bits = [&](u64 bits) {
    for (size_t i = 0; i < width; i++) out.push_back(u8(bits >> (8 * i)));
  };
  if (h.has_fill) put_bits(h.fill);
  out.insert(out.end(), extensions.begin(), extensions.end());
  if (h.fields.any()) put_header_check(out);
  if (h.form != Form::blocks) return out;
  const bool has_base = h.quantizer == QuantizerKind::uniform && h.half_step != h.bound;
  u32 flags = (has_base ? u32(flag_half_step) : 0) | (h.masked ? u32(flag_masked) : 0) | (h.partial ? u32(flag_partial) : 0) |
              (h.offset != std::array<int, axes>{} ? u32(flag_offsets) : 0) | (h.level_bound.empty() ? 0 : u32(flag_level_bounds)) |
              (h.level_block.empty() ? 0 : u32(flag_level_blocks)) | (h.negative ? u32(flag_negative) : 0) |
              (h.block == STZ_BLOCK_THROUGHPUT ? u32(flag_throughput) : 0);
  out.push_back(u8(u8(h.sample) | u8(h.quantizer) << 2 | u8(h.transform) << 4));
  out.push_back(u8(flags));
  if (h.quantizer != QuantizerKind::uniform)
    put_varint(out, h.step);
  else if (has_base)
    put_double(out, h.half_step);
  if (h.transform == Transform::fixed_point && !h.decimals.any()) {
    put_double(out, h.origin);
    put_double(out, h.delta);
  }
  if (h.transform == Transform::palette) {
    put_varint(out, h.palette_count);
    put_varint(out, h.palette_size);
  }
  if (h.quantizer == QuantizerKind::ulp) out.push_back(u8(h.zero_bits));
  if (h.masked) put_bits(h.nan_bits);
  if (h.partial) {
    put_bits(h.padding);
    for (int a = 0; a < h.layout.rank; a++) put_varint(out, h.layout.shape[a] - h.valid[a]);
  }
  if (flags & flag_offsets)
    for (int o : h.offset) out.push_back(u8(o));
  for (double b : h.level_bound) put_double(out, b);
  for (auto& block : h.level_block)
    for (int e : block) out.push_back(u8(e));
  for (u64 s : h.section) put_varint(out, s);
  for (u64 s : h.refinement) put_varint(out, s);
  for (size_t s = 0; h.remainders.present && s < h.section.size(); s++) put_varint(out, s < h.remainder.size() ? h.remainder[s] : 0);
  put_header_check(out);
  return out;
}

namespace {

bool finite(double v) { return __builtin_fabs(v) < __builtin_inf(); }

// The bits of one component.
u64 get_bits(ByteReader& in, const Header& h) {
  const size_t width = component_size(h.layout.dtype);
  const u8* p = in.take(width);
  u64 bits = 0;
  for (size_t i = 0; i < width; i++) bits |= u64(p[i]) << (8 * i);
  return bits;
}

// Reads the fields that all forms have: the layout and the options of the request.
void read_request(ByteReader& in, Header& h) {
  const u8 kind = in.get<u8>(), type = in.get<u8>();
  require((kind >> 2 & 3) <= 2 && kind >> 7 == 0, STZ_ERROR_VERSION);
  h.form = Form(kind & 3);
  h.mode = kind >> 2 & 3;
  h.has_fill = kind >> 4 & 1;
  if (kind >> 5 & 1) h.block = STZ_BLOCK_REGION;
  h.layout.dtype = type & 31;
  h.layout.byte_order = type >> 5;
  require(h.layout.byte_order <= 1 && element_size(h.layout.dtype) != 0, STZ_ERROR_VERSION);
  h.layout.rank = in.get<u8>();
  require(h.layout.rank <= STZ_MAX_RANK, STZ_ERROR_CORRUPT);
  for (int a = 0; a < h.layout.rank; a++) h.layout.shape[a] = in.varint();
  try {
    element_count(h.layout);
  } catch (const Failure&) {
    fail(STZ_ERROR_CORRUPT);
  }
  if (h.mode != STZ_LOSSLESS) h.bound = in.get_double();
  require(h.bound >= 0 && finite(h.bound), STZ_ERROR_CORRUPT);
  if (h.has_fill) h.fill = get_bits(in, h);
  if (kind & kind_extended) read_extensions(in, h);
}

// Reads how elements become samples and quantization indices. Returns the flags.
u32 read_representation(ByteReader& in, Header& h) {
  const u8 how = in.get<u8>();
  const u32 flags = in.get<u8>();
  if (flags & flag_throughput) {
    require(h.block != STZ_BLOCK_REGION, STZ_ERROR_VERSION);
    h.block = STZ_BLOCK_THROUGHPUT;
  }
  require((how & 3) <= 2 && (how >> 2 & 3) <= 2 && how >> 4 <= 4, STZ_ERROR_VERSION);
  h.sample = SampleType(how & 3);
  h.quantizer = QuantizerKind(how >> 2 & 3);
  h.transform = Transform(how >> 4);
  require(known_combination(h), STZ_ERROR_VERSION);
  h.negative = flags & flag_negative;
  require(!h.negative || h.transform == Transform::logarithmic, STZ_ERROR_VERSION);
  h.half_step = h.bound;
  if (h.quantizer == QuantizerKind::uniform) {
    if (flags & flag_half_step) h.half_step = in.get_double();
    require(h.half_step >= 0 && finite(h.half_step), STZ_ERROR_CORRUPT);
  } else {
    require(!(flags & flag_half_step), STZ_ERROR_VERSION);
    h.step = in.varint();
    require(h.step & 1, STZ_ERROR_CORRUPT);
  }
  require(!h.decimals.any() || h.transform == Transform::fixed_point, STZ_ERROR_CORRUPT);
  require(h.decimals.kind != Decimals::significant || h.step == 1, STZ_ERROR_CORRUPT);
  if (h.transform == Transform::fixed_point && !h.decimals.any()) {
    h.origin = in.get_double();
    h.delta = in.get_double();
    require(finite(h.origin) && finite(h.delta) && h.delta != 0, STZ_ERROR_CORRUPT);
  }
  if (h.transform == Transform::palette) {
    require(h.step == 1, STZ_ERROR_VERSION);
    h.palette_count = in.varint();
    h.palette_size = in.varint();
    require(h.palette_count >= 1 && h.palette_count <= max_palette_count, STZ_ERROR_CORRUPT);
  }
  if (h.quantizer == QuantizerKind::ulp) {
    h.zero_bits = in.get<u8>();
    require(h.zero_bits < (h.sample == SampleType::f32 ? 23 : 52) && (h.zero_bits == 0 || h.step == 1), STZ_ERROR_CORRUPT);
  }
  return flags;
}

// Reads which elements are coded: masks and the valid extent.
void read_validity(ByteReader& in, u32 flags, Header& h) {
  h.masked = flags & flag_masked;
  if (h.masked) h.nan_bits = get_bits(in, h);
  h.partial = flags & flag_partial;
  for (int a = 0; a < h.layout.rank; a++) h.valid[a] = h.layout.shape[a];
  if (!h.partial) return;
  h.padding = get_bits(in, h);
  for (int a = 0; a < h.layout.rank; a++) {
    const u64 cut = in.varint();
    require(cut < h.layout.shape[a], STZ_ERROR_CORRUPT);
    h.valid[a] -= cut;
  }
}

// Reads levels, blocks and sections. Their numbers follow from the extents.
void read_levels(ByteReader& in, u32 flags, Header& h) {
  if (flags & flag_offsets)
    for (int& o : h.offset) {
      o = in.get<u8>();
      require(o < max_levels || o == never_split, STZ_ERROR_CORRUPT);
    }
  Hierarchy hierarchy = hierarchy_of(h);
  if (flags & flag_level_bounds)
    for (size_t l = 0; l < hierarchy.level.size(); l++) {
      h.level_bound.push_back(in.get_double());
      require(h.level_bound.back() > 0 && finite(h.level_bound.back()), STZ_ERROR_CORRUPT);
    }
  if (flags & flag_level_blocks)
    for (int l = 0; l < hierarchy.base_level; l++) {
      std::array<int, axes> block;
      for (int& e : block) {
        e = in.get<u8>();
        require(e >= 1 && e <= 30, STZ_ERROR_CORRUPT);
      }
      set_block(hierarchy.level[size_t(l)], block);
      h.level_block.push_back(block);
    }
  for (int s = 0; s <= hierarchy.base_level; s++) h.section.push_back(in.varint());
  require_layers(h, hierarchy.base_level);
  require_enhancement(h, hierarchy);
  for_refinements(h.layers, [&](size_t, size_t) { h.refinement.push_back(in.varint()); });
  require_remainders(h);
  require_slice_grids(h);
  for (int s = 0; h.remainders.present && s <= hierarchy.base_level; s++) h.remainder.push_back(in.varint());
}

}  // namespace

Header read_header(const u8* data, size_t size) {
  require(size >= 4 && memcmp(data, magic, 3) == 0, size < 4 ? STZ_ERROR_TRUNCATED : STZ_ERROR_MAGIC);
  require(data[3] != 0, STZ_ERROR_CORRUPT);
  require(data[3] == STZ_FORMAT_VERSION, STZ_ERROR_VERSION);
  ByteReader in(data, size);
  in.take(4);
  Header h;
  h.version = data[3];
  read_request(in, h);
  if (h.form == Form::blocks) {
    require(element_count(h.layout) > 0, STZ_ERROR_CORRUPT);
    const u32 flags = read_representation(in, h);
    read_validity(in, flags, h);
    read_levels(in, flags, h);
    require(in.consumed() + 4 <= max_header_size, STZ_ERROR_CORRUPT);
  } else
    require(in.consumed() + (h.fields.any() ? 4 : 0) <= max_header_size, STZ_ERROR_CORRUPT);
  ByteReader table = in;
  if (h.form == Form::patched) read_patch_table(in, h, false);
  if (h.form == Form::blocks || h.form == Form::patched || h.fields.any()) {
    const u32 crc = crc32c(data, in.consumed());
    require_check(crc, in.take(4), 4);
  }
  if (h.form == Form::patched) read_patch_table(table, h, true);
  h.size = in.consumed();
  if (h.form == Form::patched) set_patch_offsets(h);
  require_repeats(h);
  return h;
}

u64 content_bytes(const Header& h) {
  if (h.fields.any()) {
    u64 end = h.size;
    for (u64 n : {h.fields.directory, h.fields.blocks}) require(!__builtin_add_overflow(end, n, &end), STZ_ERROR_CORRUPT);
    return end;
  }
  if (h.form == Form::raw) return h.size + array_bytes(h.layout) + 4;
  if (h.form == Form::constant) return h.size + element_size(h.layout.dtype) + 4;
  if (h.form == Form::patched) return h.base_offset + h.base_size;
  u64 end = sections_offset(h);
  for (const auto& sizes : {h.section, h.refinement, h.remainder})
    for (u64 n : sizes) require(!__builtin_add_overflow(end, n, &end), STZ_ERROR_CORRUPT);
  return end;
}

u64 sections_offset(const Header& h) {
  u64 offset = h.size;
  require(!__builtin_add_overflow(offset, h.palette_size, &offset), STZ_ERROR_CORRUPT);
  return offset;
}

u64 stream_bytes(const Header& h) {
  u64 end = content_bytes(h);
  require(!__builtin_add_overflow(end, h.trailer_size, &end), STZ_ERROR_CORRUPT);
  return end;
}

void require_stream_size(const Header& h, u64 size) {
  const u64 expected = stream_bytes(h);
  require(size >= expected, STZ_ERROR_TRUNCATED);
  require(size == expected, STZ_ERROR_CORRUPT);
}

const u8* checked_payload(const Header& h, const u8* stream, u64 size) {
  require_stream_size(h, size);
  const u8* check = stream + content_bytes(h) - 4;
  require_check(crc32c(stream, size_t(check - stream)), check, 4);
  return stream + h.size;
}

Hierarchy hierarchy_of(const Header& h) {
  const CodecAxes codec_axes(h);
  Hierarchy g = make_hierarchy(codec_axes.n, codec_axes.batch * u64(components(h.layout.dtype)), h.offset);
  for (int l = 0; l < g.base_level; l++) {
    Level& level = g.level[size_t(l)];
    set_block(level, h.level_block.empty() ? default_block(level, l, h.block) : h.level_block[size_t(l)]);
  }
  return g;
}

std::vector<double> level_bounds(const Header& h, size_t levels) {
  if (!h.level_bound.empty()) return h.level_bound;
  if (h.remainders.present) return std::vector<double>(levels, h.half_step);
  return falling_bounds(h.half_step, default_level_ratio, levels);
}

std::vector<double> falling_bounds(double finest, double ratio, size_t levels) {
  std::vector<double> bounds;
  double factor = 1;
  for (size_t l = 0; l < levels; l++) {
    bounds.push_back(finest * factor);
    factor = std::max(0.5, factor * ratio);
  }
  return bounds;
}

}  // namespace stz
