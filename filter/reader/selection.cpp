#include "reader/selection.h"

#include <algorithm>

namespace stz {

Selection select(const Header& h, const Request& request) {
  Selection s;
  const int rank = h.layout.rank;
  const u64 width = component_size(h.layout.dtype), parts = u64(components(h.layout.dtype));
  for (int r = 0; r < rank; r++) {
    const u64 extent = h.layout.shape[r], start = request.start[r], count = request.count[r], step = request.step_of(r);
    require(step >= 1 && start <= extent, STZ_ERROR_ARGUMENT);
    if (count == 0) {
      s.empty = true;
      continue;
    }
    require(start < extent && count - 1 <= (extent - 1 - start) / step, STZ_ERROR_ARGUMENT);
    s.elements *= count;  // at most the elements of the array
  }
  if (s.empty) {
    s.elements = 0;
    return s;
  }
  // from the last axis to the first: the last four that have more than one valid sample are the codec's, the others its batch
  int axis = axes - 1;
  u64 stride = width * parts, items = 1;
  for (int r = rank - 1; r >= 0; r--) {
    const u64 valid = h.valid[r], start = request.start[r], step = request.step_of(r);
    const u64 inside = start >= valid ? 0 : std::min(request.count[r], (valid - 1 - start) / step + 1);
    s.padded |= inside < request.count[r];
    s.none_valid |= inside == 0;
    if (valid > 1 && axis >= 0) {
      const size_t a = size_t(axis--);
      s.wanted.start[a] = i64(start);
      s.wanted.count[a] = i64(inside);
      s.wanted.step[a] = inside > 1 ? i64(step) : 1;
      s.stride[a] = i64(stride);
    } else if (valid > 1) {
      s.batch.push_back({start, inside, step, items, stride});
      items *= valid;
    }
    stride *= request.count[r];
  }
  s.bytes = stride;
  if (parts > 1) s.batch.push_back({0, parts, 1, items, width});
  std::reverse(s.batch.begin(), s.batch.end());
  return s;
}

}  // namespace stz
