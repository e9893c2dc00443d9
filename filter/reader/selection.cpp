#include "reader/selection.h"

#include <algorithm>
#include <numeric>

#include "format/axis_map.h"

namespace stz {
namespace {

// Puts a slower repetition in front of a nest. Joins it with the slowest one if the two form one progression.
void add_slower(std::vector<Selection::Repetition>& nest, Selection::Repetition slower) {
  if (!nest.empty()) {
    Selection::Repetition& faster = nest.front();
    if (slower.count == 1) return;
    if (faster.count == 1) {
      faster = slower;
      return;
    }
    if (slower.step == faster.count * faster.step && slower.stride == faster.count * faster.stride) {
      faster.count *= slower.count;
      return;
    }
  }
  nest.insert(nest.begin(), slower);
}

// Sets an axis's progression so that it has all samples of its nest. Drops the nest if the progression has no others.
void set_progression(Selection& s, size_t a) {
  std::vector<Selection::Repetition>& nest = s.nested[a];
  if (nest.empty()) return;
  i64 span = 0, step = 0;
  for (const Selection::Repetition& r : nest) {
    span += (r.count - 1) * r.step;
    if (r.count > 1) step = std::gcd(step, r.step);
  }
  s.wanted.step[a] = std::max<i64>(step, 1);
  s.wanted.count[a] = span / s.wanted.step[a] + 1;
  s.stride[a] = nest.back().stride;
  if (nest.size() == 1) nest.clear();
}

}  // namespace

u64 requested_elements(const stz_layout& layout, const Request& request) {
  u64 elements = 1;  // no overflow: at most the array's elements
  bool empty = false;
  for (int r = 0; r < layout.rank; r++) {
    const u64 extent = layout.shape[r], start = request.start[r], count = request.count[r], step = request.step_of(r);
    require(step >= 1 && start <= extent, STZ_ERROR_ARGUMENT);
    if (count == 0) {
      empty = true;
      continue;
    }
    require(start < extent && count - 1 <= (extent - 1 - start) / step, STZ_ERROR_ARGUMENT);
    elements *= count;
  }
  return empty ? 0 : elements;
}

Selection select(const Header& h, const Request& request) {
  Selection s;
  const int rank = h.layout.rank;
  const u64 width = component_size(h.layout.dtype), parts = u64(components(h.layout.dtype));
  s.elements = requested_elements(h.layout, request);
  s.empty = s.elements == 0;
  if (s.empty) return s;
  u64 strides[STZ_MAX_RANK], stride = width * parts;  // of the output, in bytes
  for (int r = rank - 1; r >= 0; r--) {
    strides[r] = stride;
    stride *= request.count[r];
  }
  s.bytes = stride;
  const CodecAxes codec_axes(h);
  // per axis of the codec: the product of the extents of the array's axes seen so far
  Index samples{1, 1, 1, 1};
  u64 items = 1;
  for (size_t k = codec_axes.order.size(); k-- > 0;) {
    const CodecAxes::Axis& axis = codec_axes.order[k];
    const u64 start = request.start[axis.axis], count = request.count[axis.axis], step = request.step_of(axis.axis);
    const u64 inside = start >= axis.extent ? 0 : std::min(count, (axis.extent - 1 - start) / step + 1);
    s.padded |= inside < count;
    s.none_valid |= inside == 0;
    if (axis.extent == 1) continue;
    if (axis.role == batch_role) {
      s.batch.push_back({start, inside, step, items, strides[axis.axis]});
      items *= axis.extent;
      continue;
    }
    i64& unit = samples[axis.role];
    s.wanted.start[axis.role] += i64(start) * unit;
    add_slower(s.nested[axis.role], {i64(inside), inside > 1 ? i64(step) * unit : unit, i64(strides[axis.axis])});
    unit *= i64(axis.extent);
  }
  for (size_t a = 0; a < axes && !s.none_valid; a++) set_progression(s, a);
  if (parts > 1) s.batch.push_back({0, parts, 1, items, width});
  std::reverse(s.batch.begin(), s.batch.end());
  return s;
}

std::vector<SelectedRun> Selection::runs_between(const Progression& p, size_t a, i64 low, i64 high) const {
  std::vector<SelectedRun> runs{{p.start[a], 0}};
  if (nested[a].empty()) return runs;
  i64 reach = 0;  // distance from the first sample to the last of the repetitions still to come
  for (const Repetition& r : nested[a]) reach += (r.count - 1) * r.step / scale(p, a);
  for (size_t k = 0; k + 1 < nested[a].size(); k++) {
    const Repetition& r = nested[a][k];
    const i64 step = r.step / scale(p, a);
    reach -= (r.count - 1) * step;
    const std::vector<SelectedRun> outer = std::move(runs);
    runs.clear();
    for (const SelectedRun& run : outer) {
      const i64 first = std::max<i64>(0, (low - reach - run.start + step - 1) / step);
      const i64 end = run.start >= high ? 0 : std::min(r.count, (high - run.start + step - 1) / step);
      for (i64 i = first; i < end; i++) runs.push_back({run.start + i * step, run.offset + i * r.stride});
    }
  }
  return runs;
}

}  // namespace stz
