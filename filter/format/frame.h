// The header of a stream and the frame around its sections. Byte by byte: docs/format.md.
#pragma once
#include <memory>

#include "base/bytes.h"
#include "base/element_type.h"
#include "coding/number_types.h"
#include "format/decimals.h"
#include "format/enhancement.h"
#include "format/float_fields.h"
#include "format/layers.h"
#include "format/patches.h"
#include "format/remainders.h"
#include "format/repeats.h"
#include "format/slice_grids.h"
#include "format/value_range.h"
#include "grid/grid.h"

namespace stz {

enum class Form : u8 { raw = 0, constant = 1, blocks = 2, patched = 3 };

// Length of the longest header, excluding the table of a patched stream.
constexpr size_t max_header_size = 32768;
// Most values of a palette.
constexpr u64 max_palette_count = u64(1) << 20;

struct Header {
  int version = STZ_FORMAT_VERSION;
  stz_layout layout{};
  i32 mode = STZ_LOSSLESS;
  double bound = 0;
  bool has_fill = false;
  u64 fill = 0;
  stz_block block = STZ_BLOCK_DEFAULT;
  Form form = Form::raw;
  // extension records
  u64 trailer_size = 0;  // bytes at the end that only describe the stream; 0: none
  // bound of the errors against the originals that were compressed first, if the array was lossy before; 0: not known
  double accumulated_bound = 0;
  bool bound_used = false;  // a lossless stream of values that were decoded from a lossy one: not to be quantized again
  ValueRange range;         // form blocks: of the decoded elements; none: they are what samples give
  u64 exact_size = 0;       // patched: lossless size of the array as last found or estimated; 0: never
  FloatFields fields;       // raw: none if the array is stored as it is
  // form blocks
  SampleType sample = SampleType::f32;
  QuantizerKind quantizer = QuantizerKind::uniform;
  Transform transform = Transform::none;
  u64 step = 1;                             // integer and ulp quantizers
  double half_step = 0;                     // uniform, level 0; differs from `bound` if the cast to the type, or a dead zone, needs room
  double origin = 0, delta = 0;             // fixed_point without decimals: value = origin + k * delta
  Decimals decimals;                        // fixed_point: none if values are multiples of delta
  bool negative = false;                    // logarithmic: all numbers are negative
  u64 palette_count = 0, palette_size = 0;  // palette: number of values, bytes of its section
  std::shared_ptr<const std::vector<u64>> palette;  // palette: bits of the values by rank, once read
  SliceGrids slices;                                // fixed_point: none if the grid is the same everywhere
  int zero_bits = 0;                                // ulp: lowest mantissa bits that are zero in every sample
  bool masked = false;
  u64 nan_bits = 0;      // the NaN that special_nan means
  bool partial = false;  // valid extent smaller than the array
  u64 padding = 0;       // bits of every component outside the valid extent
  u64 valid[STZ_MAX_RANK] = {};
  std::vector<u8> axis_map;  // the role of every axis of the array (axis_map.h); empty: the default
  std::array<int, axes> offset{};
  std::vector<double> level_bound;                 // empty: the default schedule
  std::vector<std::array<int, axes>> level_block;  // empty: default extents
  // sections: the base section, then levels base_level - 1 .. 0
  std::vector<u64> section;
  Layers layers;                // none: levels hold complete quantization indices
  Enhancement enhancement;      // none: samples are not changed after decoding
  std::vector<u64> refinement;  // sizes of the sections of refinements, in the order of for_refinements
  Remainders remainders;        // none: elements are whole
  std::vector<u64> remainder;   // sizes of the sections of remainders, as `section`
  // form patched
  std::vector<Patch> patches;
  std::vector<Repeat> repeats;         // one for each patch, or none: patches then hold elements
  u64 base_offset = 0, base_size = 0;  // of the stream of the base
  size_t size = 0;                     // bytes of the header with its checksum
};

u64 element_count(const stz_layout& layout);  // fails on overflow
u64 array_bytes(const stz_layout& layout);
u64 sample_count(const stz_layout& layout);  // a complex element has two

Bytes write_header(const Header& h);
// Reads the header and verifies its checksum. Fails if it is damaged, truncated or of a newer version.
Header read_header(const u8* data, size_t size);

// Offset of the base section, which follows the header and the palette (if any). Fails on overflow.
u64 sections_offset(const Header& h);
// Size of the smallest trailer: its check.
constexpr u64 smallest_trailer = 4;
// The size of the stream without and with its trailer. Fails if sizes in the header overflow.
u64 content_bytes(const Header& h);
u64 stream_bytes(const Header& h);
// Fails unless a stream has `size` bytes; with STZ_ERROR_TRUNCATED if `size` is too small.
void require_stream_size(const Header& h, u64 size);
// The same for a raw or constant stream in memory; verifies its check too. Returns its payload.
const u8* checked_payload(const Header& h, const u8* stream, u64 size);

// The codec's grids for this header.
Hierarchy hierarchy_of(const Header& h);
// Whether the elements may differ from the compressed ones. They have then used their bound and must not be quantized again. Raw and
// constant streams and palettes are lossless in every mode.
inline bool bound_is_used(const Header& h) {
  return h.bound_used || (h.form == Form::patched && h.repeats.empty()) ||
         (h.form == Form::blocks && h.mode != STZ_LOSSLESS && h.transform != Transform::palette);
}
// The bound in units of samples: octaves if the transform is logarithmic. Samples that are rounded to integers may miss the bound by less
// than a half.
inline double sample_bound(const Header& h) {
  if (h.transform == Transform::logarithmic) return h.half_step;
  if (h.remainders.present) return h.remainders.step * remainder_bound;
  return is_integer(h.layout.dtype) ? double(u64(std::min(h.bound, 1e18))) + (0.5 - 1.0 / 128) : h.bound;
}
constexpr double default_level_ratio = 0.8;  // of the bounds of a level and the next finer one
// The bound of each level (half its step), level 0 first.
std::vector<double> level_bounds(const Header& h, size_t levels);
// Bounds from `finest` on, each `ratio` times that of the next finer level, down to half of `finest`.
std::vector<double> falling_bounds(double finest, double ratio, size_t levels);

}  // namespace stz
