#include "encoder/make_stream.h"

#include <algorithm>

#include "base/faults.h"
#include "encoder/axis_schedule.h"
#include "encoder/try_edge.h"
#include "encoder/vary_form.h"
#include "encoder/write/code_sections.h"
#include "masks/content_check.h"

namespace stz {
namespace {

constexpr double unasked_share = 300;  // most a default content check may take: 1/300 of a stream

// Puts header and palette before the sections and the trailer behind them.
Stream close(Stream sections, const Bytes& front, const Bytes& trailer) {
  sections.bytes.insert(sections.bytes.begin(), front.begin(), front.end());
  sections.bytes.insert(sections.bytes.end(), trailer.begin(), trailer.end());
  return sections;
}
SizeEstimate close(SizeEstimate sections, const Bytes& front, const Bytes& trailer) {
  sections.bytes += double(front.size() + trailer.size());
  return sections;
}

// What a few samples tell of an array, beside its representation.
struct Character {
  RankedAxes axes;
  bool edge_promised;
};

// The sets of arrays of this character.
template <class S>
LearnedSets suitable(const Plan<S>& plan, const Character& character) {
  LearnedSets found;
  if (!plan.learned) return found;
  for (const std::shared_ptr<const LearnedSet>& set : *plan.learned)
    if (set->is_of(plan.header) && set->late_axes == character.axes.mask() && set->edge_promised == character.edge_promised)
      found.push_back(set);
  return found;
}

// The smallest sections with predictions that were learned, in the forms that were the smallest for those arrays.
template <class S>
Sections<Stream> sections_as_learned(const Plan<S>& plan, const LearnedSets& learned) {
  const Index n = hierarchy_of(plan.header).n;
  Sections<Stream> best;
  for (size_t i = 0; i < learned.size(); i++) {
    const AxisOffsets& offset = learned[i]->offset;
    const auto has_offset = [&](const auto& set) { return set->offset == offset; };
    if (std::any_of(learned.begin(), learned.begin() + std::ptrdiff_t(i), has_offset)) continue;
    LearnedSets same;
    std::copy_if(learned.begin(), learned.end(), std::back_inserter(same), has_offset);
    SectionForm form{without_unsplit_levels(n, offset)};
    form.learned = &same;
    keep_smaller(best, sections_of<Stream>(plan, form));
  }
  if (!best.empty() && std::any_of(learned.begin(), learned.end(), [](const auto& set) { return set->edge; })) try_edge_mode(plan, best);
  return best;
}

// The smallest of the sections that may suit the samples.
template <class Out, class S>
Sections<Out> smallest_sections(const Plan<S>& plan, const Character& character) {
  AxisSchedule<Out> schedule = choose_axis_schedule<Out>(plan, character.axes);
  Sections<Out> sections = std::move(schedule.tried);
  if (!schedule.is_tried) {
    sections = sections_of<Out>(plan, {schedule.offset});
    // Without offsets the sections may be within the limits of the format.
    if (sections.empty() && schedule.offset != AxisOffsets{}) sections = sections_of<Out>(plan, {});
  }
  if (character.edge_promised) try_edge_mode(plan, sections);
  if (plan.layers <= 1 && plan.unknown_bits.empty()) try_variations(plan, sections);
  return sections;
}

}  // namespace

template <class Out, class S>
Out make_stream(const Plan<S>& plan) {
  const Character character{rank_axes(plan), edge_mode_promises(plan)};
  Sections<Out> sections;
  bool fitted = true;
  if constexpr (std::is_same_v<Out, Stream>) {
    const LearnedSets learned = suitable(plan, character);
    if (!learned.empty()) sections = sections_as_learned(plan, learned);
    fitted = sections.empty();
  }
  if (fitted) sections = smallest_sections<Out>(plan, character);
  if (sections.empty()) return {};
  Header& h = sections.header;
  Bytes trailer;
  if (plan.content_check) trailer = write_trailer(sections.content_checks);
  if (plan.check_if_cheap && double(trailer.size()) > sections.size() / unasked_share) trailer.clear();
  h.trailer_size = trailer.size();
  STZ_FAULT_POINT(header_fields, &h.half_step, sizeof h.half_step);
  STZ_FAULT_POINT(header_fields, &h.bound, sizeof h.bound);
  STZ_FAULT_POINT(header_fields, &h.origin, sizeof h.origin);
  STZ_FAULT_POINT(header_fields, &h.delta, sizeof h.delta);
  STZ_FAULT_POINT(header_fields, &h.nan_bits, component_size(h.layout.dtype));
  STZ_FAULT_POINT(header_fields, &h.padding, component_size(h.layout.dtype));
  STZ_FAULT_POINT(header_fields, &h.fill, component_size(h.layout.dtype));
  Bytes front = write_header(h);
  front.insert(front.end(), plan.palette.begin(), plan.palette.end());
  if constexpr (std::is_same_v<Out, Stream>) {
    sections.learned.late_axes = character.axes.mask();
    sections.learned.edge_promised = character.edge_promised;
    sections.learned.sample = h.sample;
    sections.learned.quantizer = h.quantizer;
    sections.learned.transform = h.transform;
    sections.out.is_learned = !fitted;
    sections.learned.bytes = sections.size() + double(front.size() + trailer.size());
    if (fitted && !sections.learned.level.empty()) sections.out.learned = std::make_shared<const LearnedSet>(std::move(sections.learned));
  }
  return close(std::move(sections.out), front, trailer);
}

#define STZ_INSTANTIATE(S)                     \
  template Stream make_stream(const Plan<S>&); \
  template SizeEstimate make_stream(const Plan<S>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
