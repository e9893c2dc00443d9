#include "encoder/make_stream.h"

#include "base/faults.h"
#include "encoder/axis_schedule.h"
#include "encoder/try_edge.h"
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

}  // namespace

template <class Out, class S>
Out make_stream(const Plan<S>& plan) {
  AxisSchedule<Out> schedule = choose_axis_schedule<Out>(plan);
  Sections<Out> sections = std::move(schedule.tried);
  if (!schedule.is_tried) {
    sections = sections_of<Out>(plan, {schedule.offset});
    // Without offsets the sections may be within the limits of the format.
    if (sections.empty() && schedule.offset != AxisOffsets{}) sections = sections_of<Out>(plan, {});
  }
  try_edge_mode(plan, sections);
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
