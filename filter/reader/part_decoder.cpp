#include "reader/part_decoder.h"

#include <algorithm>

namespace stz {
namespace {

// A block with empty arrays of the right sizes for the results of decoding.
template <class S>
std::shared_ptr<DecodedBlock<S>> empty_block(const StreamSections<S>& sections, const LevelPlan& plan, u64 i, u64 number) {
  const LevelDirectory& d = sections.directory(plan.l);
  auto decoded = std::make_shared<DecodedBlock<S>>();
  const Level& level = sections.hierarchy().level[plan.l];
  decoded->box = block_box(level, number % block_count(level));
  decoded->wanted = d.merged ? all_classes : plan.wanted;
  decoded->exact = plan.needed(i);
  const Index& n = decoded->box.size;
  const size_t samples = size_t(n[0] * n[1] * n[2] * n[3]);
  if (plan.needs_samples(i)) decoded->samples.resize(samples);
  if (plan.l > 0 && decoded->wanted == all_classes) decoded->activities.resize(samples);
  if (sections.header().masked) decoded->specials.resize(samples);
  return decoded;
}

// The coarser samples that a block covers.
Box covered_box(const Level& level, const Box& block) {
  Box box;
  for (size_t a = 0; a < axes; a++) {
    const i64 unit = level.split[a] ? 2 : 1;
    box.low[a] = block.low[a] / unit;
    box.size[a] = (block.low[a] + block.size[a] + unit - 1) / unit - box.low[a];
  }
  return box;
}

// The box of coarser samples that the needed samples of a block are predicted from.
template <class S>
Box predicting_box(const StreamSections<S>& sections, size_t l, const Box& block, const Box& needed) {
  Box box;
  for (size_t a = 0; a < axes; a++) {
    const Span span = coarse_span(sections.hierarchy(), l, a, {block.low[a], block.low[a] + block.size[a]},
                                  {needed.low[a], needed.low[a] + needed.size[a]}, sections.directory(l).reach, sections.header().masked);
    box.low[a] = span.low;
    box.size[a] = span.high - span.low;
  }
  return box;
}

template <class S>
void use_base_section(const StreamSections<S>& sections, u64 item, BlockToDecode<S>& block) {
  const Level& level = sections.hierarchy().level[sections.base_level()];
  const DecodedLevel<S>& base = sections.base();
  const u64 first = item * level.samples();
  block.coarse = whole_grid<const S>(base.samples.data() + first, level);
  block.coarse_activities = whole_grid<const u8>(base.activities.data() + first, level);
  if (sections.header().masked) block.coarse_specials = whole_grid<const u8>(base.specials.data() + first, level);
}

// Adds the literal elements of the coarser level that lie in the block.
template <class S>
void inherit(const std::vector<LiteralElement>& coarser, const Level& level, const LevelMap& map, DecodedBlock<S>& block) {
  for (const LiteralElement& o : coarser) {
    if (o.index < map.item) continue;
    u64 rest = o.index - map.item;
    bool inside = true;
    for (size_t a = 0; a < axes && inside; a++) {
      const i64 at = level.n[a] > 1 ? i64(rest / u64(map.step[a])) : 0;
      inside = at >= block.box.low[a] && at < block.box.low[a] + block.box.size[a];
      rest -= u64(at) * u64(map.step[a]);
    }
    if (inside && rest == 0) block.literals.push_back(o);
  }
}

// Fills an array of a block, unless it is empty: with the samples of the coarser level, and zeros where there are none.
template <class T>
void put_class_zero(const Level& level, const GridPart<const T>& coarser, const Box& box, Buffer<T>& array) {
  if (array.empty()) return;
  std::fill(array.data(), array.data() + array.size(), T(0));
  const GridPart<T> to{array.data(), box};
  Index unit, first, end;  // in samples of the coarser level; limited to the part that is there
  for (size_t a = 0; a < axes; a++) {
    unit[a] = level.split[a] ? 2 : 1;
    first[a] = std::max((box.low[a] + unit[a] - 1) / unit[a], coarser.box.low[a]);
    end[a] = std::min((box.low[a] + box.size[a] + unit[a] - 1) / unit[a], coarser.box.low[a] + coarser.box.size[a]);
  }
  for_rows(first, end, [&](i64 i, i64 j, i64 k) {
    for (i64 x = first[3]; x < end[3]; x++) *to.at(i * unit[0], j * unit[1], k * unit[2], x * unit[3]) = *coarser.at(i, j, k, x);
  });
}

}  // namespace

template <class S>
void PartDecoder<S>::gather_coarse(const StreamSections<S>& sections, const PlannedBlock<S>& planned, const DecodedBlock<S>& decoded,
                                   BlockToDecode<S>& block) {
  const Hierarchy& hierarchy = sections.hierarchy();
  const size_t l = planned.plan.l;
  const Level& coarser_level = hierarchy.level[l + 1];
  const LevelBlocks<S>& coarser = *planned.coarser;
  const Box covered = covered_box(hierarchy.level[l], decoded.box);
  if (!decoded.samples.empty())
    block.coarse =
        gather(coarser_level, coarser, &DecodedBlock<S>::samples, predicting_box(sections, l, decoded.box, decoded.exact), samples_);
  block.coarse_activities = gather(coarser_level, coarser, &DecodedBlock<S>::activities, covered, activities_);
  if (sections.header().masked) block.coarse_specials = gather(coarser_level, coarser, &DecodedBlock<S>::specials, covered, specials_);
  literals_.clear();
  for_blocks_at(coarser_level, coarser, covered,
                [&](const DecodedBlock<S>& b) { literals_.insert(literals_.end(), b.literals.begin(), b.literals.end()); });
}

template <class S>
typename BlockCache<S>::Block PartDecoder<S>::decode(const StreamSections<S>& sections, const PlannedBlock<S>& planned,
                                                     const Fetched& fetched) {
  const LevelPlan& plan = planned.plan;
  const size_t l = plan.l;
  const Header& header = sections.header();
  const Hierarchy& hierarchy = sections.hierarchy();
  BlockToDecode<S> block;
  block.number = sections.block_number(plan, planned.item, planned.i);
  block.wanted = plan.wanted;
  std::fill_n(block.stream, most_streams, nullptr);
  sections.for_streams(plan, block.number, [&](size_t k, const ByteRange& range) { block.stream[k] = fetched.at(range); });

  if (plan.needs_samples(planned.i))
    sections.for_refined_streams(plan, block.number,
                                 [&](size_t r, size_t k, const ByteRange& range) { block.refined[r][k] = fetched.at(range); });

  auto decoded = empty_block(sections, plan, planned.i, block.number);
  if (planned.coarser)
    gather_coarse(sections, planned, *decoded, block);
  else
    use_base_section(sections, planned.item, block);
  if (!decoded->samples.empty()) block.grid = {decoded->samples.data(), decoded->box};
  if (!decoded->activities.empty()) block.activities = {decoded->activities.data(), decoded->box};
  if (header.masked) block.specials = {decoded->specials.data(), decoded->box};

  decoder_.literals.clear();
  LevelToDecode<S> level{header, hierarchy, l, sections.quantizer(l), sections.directory(l)};
  level.taken = sections.taken();
  for (size_t r = 0; r < level.taken; r++) level.refined[r] = sections.refined_directory(r, l);
  decoder_.decode(level, block);
  decoded->literals = std::move(decoder_.literals);
  decoder_.literals.clear();
  const std::vector<LiteralElement>& inherited = planned.coarser ? literals_ : sections.base_literals();
  if (!inherited.empty()) inherit(inherited, hierarchy.level[l], level_map(hierarchy, l, planned.item), *decoded);
  sort_literals(decoded->literals);
  return decoded;
}

template <class S>
typename BlockCache<S>::Block PartDecoder<S>::without_classes(const StreamSections<S>& sections, const PlannedBlock<S>& planned) {
  const LevelPlan& plan = planned.plan;
  const Level& level = sections.hierarchy().level[plan.l];
  auto decoded = empty_block(sections, plan, planned.i, sections.block_number(plan, planned.item, planned.i));
  BlockToDecode<S> block;
  if (planned.coarser)
    gather_coarse(sections, planned, *decoded, block);
  else
    use_base_section(sections, planned.item, block);
  if (!decoded->activities.empty()) memset(decoded->activities.data(), 0, decoded->activities.size());
  put_class_zero(level, block.coarse_specials, decoded->box, decoded->specials);
  put_class_zero(level, block.coarse, decoded->box, decoded->samples);
  const std::vector<LiteralElement>& inherited = planned.coarser ? literals_ : sections.base_literals();
  inherit(inherited, level, level_map(sections.hierarchy(), plan.l, planned.item), *decoded);
  sort_literals(decoded->literals);
  return decoded;
}

template class PartDecoder<float>;
template class PartDecoder<double>;
template class PartDecoder<i64>;

}  // namespace stz
