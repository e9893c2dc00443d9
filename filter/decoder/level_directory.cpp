#include "decoder/level_directory.h"

#include <algorithm>

#include "format/checksum.h"
#include "format/section.h"

namespace stz {
namespace {

constexpr u64 always_possible = u64(1) << 22;  // entries of an index; of more, sections so short that they hardly exist are refused

void require_check(u32 crc, const u8* stored, size_t width) {
  for (size_t i = 0; i < width; i++) require(stored[i] == u8(crc >> (8 * i)), STZ_ERROR_CHECKSUM);
}

}  // namespace

u64 read_directory(const Header& h, const Hierarchy& hierarchy, size_t l, int code_bits, const u8* data, u64 available, u64 section_size,
                   ParameterState& state, LevelDirectory& directory) {
  constexpr u64 longest_varint = 10, longest_check = 4;
  if (available < std::min(longest_varint, section_size)) return std::min(longest_varint, section_size);
  ByteReader in(data, size_t(available));
  const u64 blob_size = in.varint();
  require(blob_size <= section_size - in.consumed(), STZ_ERROR_TRUNCATED);
  const u64 needed = std::min(section_size, in.consumed() + blob_size + longest_check);
  if (available < needed) return needed;
  const u8* blob = in.take(blob_size);

  const Level& own = hierarchy.level[l];
  const ClassList classes = classes_of(own.split_mask());
  LevelDirectory d;
  ParameterState next = state;
  BinaryDecoder parameters(blob, size_t(blob_size));
  ParameterModels models;
  IndexModels index;
  d.merged = parameters.bit(index.merged);
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    read_class(parameters, models, next, cls, own.active_mask(), max_model_shift(code_bits), d.p[cls]);
    d.reach = std::max(d.reach, StencilId(d.p[cls].stencil));
  }
  d.per_item = block_count(own);
  require(d.per_item <= (u64(1) << 40) / hierarchy.batch, STZ_ERROR_CORRUPT);
  d.per_block = u64(h.masked) + (d.merged ? 1 : u64(classes.count));
  const u64 entries = d.per_item * hierarchy.batch * std::max<u64>(1, d.per_block);
  require(entries <= most_decisions(blob_size), STZ_ERROR_CORRUPT);
  require(entries <= std::max(always_possible, 256 * section_size), STZ_ERROR_MEMORY);
  u64 sum = 0, streams = 0;
  for (u64 number = 0; number < d.per_item * hierarchy.batch; number++)
    for (u64 k = 0; k < d.per_block; k++) {
      u64 size = h.masked && k == 0 ? parameters.number(index.mask, section_size)
                 : d.merged         ? parameters.number(index.block, section_size)
                                    : parameters.number(index.stream[k - u64(h.masked)], section_size);
      d.sizes.push_back(size);
      sum += size;
      streams += size != 0;
      require(sum <= section_size, STZ_ERROR_CORRUPT);
    }
  d.with_checks = sum > covered_streams;
  const u64 own_size = in.consumed(), checked = own_size + (d.with_checks ? 0 : sum);
  const size_t width = check_size(size_t(checked));
  require(section_size == own_size + width + sum + (d.with_checks ? 2 * streams : 0), STZ_ERROR_CORRUPT);
  if (!d.with_checks && available < section_size) return section_size;
  const u8* stored = in.take(width);
  d.begin = in.consumed();
  if (d.with_checks)
    require_check(crc32c(data, size_t(own_size)), stored, width);
  else {
    // the check stands between the parameters and the streams that it covers
    Bytes bytes(data, data + own_size);
    bytes.insert(bytes.end(), data + d.begin, data + section_size);
    require_check(crc32c(bytes.data(), bytes.size()), stored, width);
  }
  u64 offset = 0;
  for (size_t s = 0; s < d.sizes.size(); s++) {
    if (s % d.per_block == 0) d.offsets.push_back(offset);
    offset += d.stored_size(s);
  }
  state = std::move(next);
  directory = std::move(d);
  return 0;
}

}  // namespace stz
