#include "decoder/level_directory.h"

#include <algorithm>

#include "coding/checksum.h"
#include "format/section.h"

namespace stz {
namespace {

// The part of a section before its streams: the size of the coded part, the coded parameters and index, and the check.
struct Front {
  const u8* coded = nullptr;
  u64 coded_size = 0;
  u64 size = 0;  // without the check
  SectionCheck check{};
};

// Reads the sizes in the front of a section. Returns 0, or the number of bytes needed to read and verify the front if more than available.
u64 read_front(const LevelSection& section, Front& front) {
  const u64 longest_varint = std::min<u64>(10, section.size);
  if (section.available < longest_varint) return longest_varint;
  ByteReader in(section.data, size_t(section.available));
  front.coded_size = in.varint();
  require(front.coded_size <= section.size - in.consumed(), STZ_ERROR_TRUNCATED);
  front.coded = section.data + in.consumed();
  front.size = in.consumed() + front.coded_size;
  front.check = section_check(front.size, section.size);
  require(front.check.width <= section.size - front.size, STZ_ERROR_TRUNCATED);
  const u64 needed = front.check.covers_streams ? section.size : front.size + front.check.width;
  return section.available < needed ? needed : 0;
}

// Fails unless the check is right for what it covers.
void verify_check(const LevelSection& section, const Front& front) {
  const SectionCheck& check = front.check;
  require(!check.covers_streams || check_size(section.size - check.width) == check.width, STZ_ERROR_CORRUPT);
  const u8* stored = section.data + front.size;
  const u8* streams = stored + check.width;
  const size_t covered = check.covers_streams ? size_t(section.data + section.size - streams) : 0;
  require_check(check_of(section.data, size_t(front.size), streams, covered), stored);
}

// Reads the index: sizes and offsets of all streams. With their checks these must fill the rest of the section exactly.
void read_index(BinaryDecoder& in, IndexModels& models, bool masked, u64 blocks, const Front& front, const LevelSection& section,
                LevelDirectory& d) {
  const u64 entries = blocks * d.per_block, stream_bytes = section.size - d.begin;
  require(entries <= most_decisions(front.coded_size) && entries <= most_index_sizes(section.size), STZ_ERROR_CORRUPT);
  require(entries <= most_index_sizes(section.present), STZ_ERROR_TRUNCATED);
  d.sizes.reserve(size_t(entries));
  d.offsets.reserve(size_t(blocks));
  u64 offset = 0, sum = 0;
  for (u64 number = 0; number < blocks; number++) {
    if (d.per_block) d.offsets.push_back(offset);
    for (u64 k = 0; k < d.per_block; k++) {
      NumberModel& model = masked && k == 0 ? models.mask : d.merged ? models.block : models.stream[k - u64(masked)];
      d.sizes.push_back(in.number(model, section.size));
      sum += d.sizes.back();
      offset += d.stored_size(d.sizes.size() - 1);
      require(offset <= stream_bytes, STZ_ERROR_CORRUPT);
    }
  }
  require(offset == stream_bytes && (sum > covered_streams) == d.with_checks, STZ_ERROR_CORRUPT);
}

ParameterContext parameter_context(const Header& h, const Level& level) {
  return {level.active_mask(), max_model_shift(h.sample == SampleType::f32 ? 32 : 64), h.quantizer != QuantizerKind::ulp};
}

}  // namespace

void verify_section(const u8* section, u64 size) {
  const LevelSection whole{section, size, size, size};
  Front front;
  read_front(whole, front);
  verify_check(whole, front);
}

u64 read_directory(const Header& h, const Hierarchy& hierarchy, size_t l, const LevelSection& section, ParameterState& state,
                   LevelDirectory& directory) {
  Front front;
  if (const u64 needed = read_front(section, front)) return needed;
  verify_check(section, front);  // before anything is decoded

  const Level& level = hierarchy.level[l];
  const ParityClasses classes = parity_classes_of(level.split_mask());
  const ParameterContext of_level = parameter_context(h, level);
  LevelDirectory d;
  d.with_checks = !front.check.covers_streams;
  d.begin = front.size + front.check.width;
  ParameterState next = state;
  BinaryDecoder coded(front.coded, size_t(front.coded_size));
  ParameterModels models = fresh<ParameterModels>;
  IndexModels index = fresh<IndexModels>;
  const u64 arrangement = coded.number(index.arrangement);
  require(arrangement < arrangement_count, STZ_ERROR_VERSION);
  d.edge = arrangement == edge_streams;
  d.merged = arrangement == merged_streams || d.edge;
  d.unknown_bits = h.layers.unknown_bits(l);
  require(!d.edge || !d.unknown_bits, STZ_ERROR_CORRUPT);
  for (int c = 0; c < classes.count && !d.edge; c++) {
    const int cls = classes.mask[c];
    d.p[cls].unknown_bits = d.unknown_bits;
    read_class(coded, models, next, cls, of_level, d.p[cls]);
    d.reach = std::max(d.reach, StencilId(d.p[cls].stencil));
  }
  d.per_item = block_count(level);
  require(d.per_item <= (u64(1) << 40) / hierarchy.batch, STZ_ERROR_CORRUPT);
  d.per_block = u64(h.masked) + (d.merged ? 1 : u64(classes.count));
  read_index(coded, index, h.masked, d.per_item * hierarchy.batch, front, section, d);
  state = std::move(next);
  directory = std::move(d);
  return 0;
}

u64 read_refined_directory(const Header& h, const Hierarchy& hierarchy, size_t l, size_t refinement, const LevelDirectory& of_level,
                           const LevelSection& section, ParameterState& state, LevelDirectory& directory) {
  Front front;
  if (const u64 needed = read_front(section, front)) return needed;
  verify_check(section, front);

  const ParityClasses classes = parity_classes_of(hierarchy.level[l].split_mask());
  LevelDirectory d;
  d.with_checks = !front.check.covers_streams;
  d.begin = front.size + front.check.width;
  d.merged = of_level.merged;
  d.per_item = of_level.per_item;
  d.per_block = of_level.per_block - u64(h.masked);
  state.refined.resize(h.layers.refinements());
  RefinedCodeState next = state.refined[refinement];
  BinaryDecoder coded(front.coded, size_t(front.coded_size));
  IndexModels index = fresh<IndexModels>;
  const int bits = h.layers.added_bits(refinement, l), so_far = of_level.unknown_bits - h.layers.unknown_bits(l, refinement + 1);
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    read_refined_class(coded, next, parameter_context(h, hierarchy.level[l]), added_bits(bits, of_level.p[cls].mean, so_far), d.p[cls]);
  }
  read_index(coded, index, false, d.per_item * hierarchy.batch, front, section, d);
  state.refined[refinement] = std::move(next);
  directory = std::move(d);
  return 0;
}

}  // namespace stz
