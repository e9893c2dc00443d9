#include "decoder/level_directory.h"

#include <algorithm>

#include "format/checksum.h"
#include "format/section.h"

namespace stz {
namespace {

// Fails unless the check behind the first `front_size` bytes is that of what it covers.
void verify_check(const u8* section, u64 front_size, u64 section_size, const SectionCheck& check) {
  const u8* stored = section + front_size;
  u32 crc = crc32c(section, size_t(front_size));
  if (check.covers_streams) {
    const u8* streams = stored + check.width;
    crc = crc32c(streams, size_t(section + section_size - streams), crc);
  }
  require_check(crc, stored, check.width);
}

// Reads the index: sizes and offsets of all streams, which must fill `stream_bytes` (their checks included).
void read_index(BinaryDecoder& in, IndexModels& models, bool masked, u64 blocks, u64 section_size, u64 stream_bytes, LevelDirectory& d) {
  const u64 entries = blocks * d.per_block;
  d.sizes.reserve(size_t(entries));
  d.offsets.reserve(size_t(blocks));
  u64 offset = 0, sum = 0;
  for (u64 number = 0; number < blocks; number++) {
    if (d.per_block) d.offsets.push_back(offset);
    for (u64 k = 0; k < d.per_block; k++) {
      NumberModel& model = masked && k == 0 ? models.mask : d.merged ? models.block : models.stream[k - u64(masked)];
      d.sizes.push_back(in.number(model, section_size));
      sum += d.sizes.back();
      offset += d.stored_size(d.sizes.size() - 1);
      require(offset <= stream_bytes, STZ_ERROR_CORRUPT);
    }
  }
  require(offset == stream_bytes && (sum > covered_streams) == d.with_checks, STZ_ERROR_CORRUPT);
}

}  // namespace

u64 read_directory(const Header& h, const Hierarchy& hierarchy, size_t l, int code_bits, const u8* data, u64 available, u64 section_size,
                   ParameterState& state, LevelDirectory& directory) {
  constexpr u64 longest_varint = 10;
  if (available < std::min(longest_varint, section_size)) return std::min(longest_varint, section_size);
  ByteReader in(data, size_t(available));
  const u64 coded_size = in.varint();
  require(coded_size <= section_size - in.consumed(), STZ_ERROR_TRUNCATED);
  const u64 front_size = in.consumed() + coded_size;
  const SectionCheck check = section_check(front_size, section_size);
  require(check.width <= section_size - front_size, STZ_ERROR_TRUNCATED);
  const u64 needed = check.covers_streams ? section_size : front_size + check.width;
  if (available < needed) return needed;
  require(!check.covers_streams || check_size(size_t(section_size - check.width)) == check.width, STZ_ERROR_CORRUPT);
  verify_check(data, front_size, section_size, check);  // before anything is made of it

  const Level& level = hierarchy.level[l];
  const ParityClasses classes = parity_classes_of(level.split_mask());
  LevelDirectory d;
  d.with_checks = !check.covers_streams;
  d.begin = front_size + check.width;
  ParameterState next = state;
  BinaryDecoder coded(in.take(coded_size), size_t(coded_size));
  ParameterModels models;
  IndexModels index;
  d.merged = coded.bit(index.merged);
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    read_class(coded, models, next, cls, level.active_mask(), max_model_shift(code_bits), d.p[cls]);
    d.reach = std::max(d.reach, StencilId(d.p[cls].stencil));
  }
  d.per_item = block_count(level);
  require(d.per_item <= (u64(1) << 40) / hierarchy.batch, STZ_ERROR_CORRUPT);
  d.per_block = u64(h.masked) + (d.merged ? 1 : u64(classes.count));
  const u64 blocks = d.per_item * hierarchy.batch;
  const u64 entries = blocks * d.per_block;
  require(entries <= most_decisions(coded_size) && entries <= most_index_sizes(section_size), STZ_ERROR_CORRUPT);
  read_index(coded, index, h.masked, blocks, section_size, section_size - d.begin, d);
  state = std::move(next);
  directory = std::move(d);
  return 0;
}

}  // namespace stz
