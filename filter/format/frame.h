// The header of a stream and the frame around its sections. Byte by byte: docs/format.md.
#pragma once
#include "base/bytes.h"
#include "base/element_type.h"
#include "format/grid.h"
#include "format/number_types.h"

namespace stz {

enum class Form : u8 { raw = 0, constant = 1, blocks = 2 };

struct Header {
  stz_layout layout{};
  i32 mode = STZ_LOSSLESS;
  double bound = 0;
  bool has_fill = false;
  u64 fill = 0;
  bool region = false;
  Form form = Form::raw;
  // form blocks
  SampleType sample = SampleType::f32;
  QuantizerKind quantizer = QuantizerKind::uniform;
  Transform transform = Transform::none;
  u64 step = 1;                  // integer and ulp quantisers
  double half_step = 0;          // uniform: of level 0; equals `bound` unless the cast needs room
  double origin = 0, delta = 0;  // fixed_point: value = origin + k * delta
  bool negative = false;         // logarithmic: all numbers are below zero
  int zero_bits = 0;             // ulp: low bits of the mantissa that are zero in every sample
  bool masked = false;
  u64 nan_bits = 0;      // the NaN that special_nan stands for
  bool partial = false;  // valid extent smaller than the array
  u64 padding = 0;       // bits of every sample outside it
  u64 valid[STZ_MAX_RANK] = {};
  std::array<int, axes> offset{};
  std::vector<double> level_bound;                 // empty: the default schedule
  std::vector<std::array<int, axes>> level_block;  // empty: default extents
  // sections: the base section, then levels base_level - 1 .. 0
  std::vector<u64> section;
  size_t size = 0;  // bytes of the header, checksum included
};

u64 element_count(const stz_layout& layout);  // fails on overflow
u64 array_bytes(const stz_layout& layout);

Bytes write_header(const Header& h);
// Fails on a header that is damaged, truncated or of a newer version. Checks its checksum.
Header read_header(const u8* data, size_t size);

// Bytes of the stream that a header begins. Fails if its sections cannot be that long.
u64 stream_bytes(const Header& h);
// Fails unless a raw or constant stream is `size` bytes long, with STZ_ERROR_TRUNCATED if it is shorter than it should be.
void require_plain_size(const Header& h, u64 size);
// The same for one that is in memory, and its check. Returns where its payload begins.
const u8* checked_payload(const Header& h, const u8* stream, u64 size);

// The codec's grids for a header: axes of length 1 vanish, those in front of the last four become the batch.
Hierarchy hierarchy_of(const Header& h);
// The bound in units of the samples: octaves if the transform is logarithmic.
inline double sample_bound(const Header& h) { return h.transform == Transform::logarithmic ? h.half_step : h.bound; }
// Bound of each level (half the step), level 0 first.
std::vector<double> level_bounds(const Header& h, size_t levels);

// Check value of `size` bytes as a section stores it: 2 bytes below 256 bytes, else 4.
constexpr size_t short_section = 256;
// Levels whose streams are no longer than this are covered by the section's own checksum; longer ones carry one per stream.
constexpr u64 covered_streams = 4096;

}  // namespace stz
