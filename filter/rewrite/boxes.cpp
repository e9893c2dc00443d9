#include "rewrite/boxes.h"

#include <algorithm>

#include "grid/box_rows.h"

namespace stz {
namespace {

constexpr u64 least_gap = 4;  // fewest planes without changes between two boxes

// For each axis: marks of the planes across it, inside a box, that hold an element in the wanted state.
using Signatures = std::vector<std::vector<u8>>;

struct Survey {
  Signatures planes;
  // elements in the wanted state, and in the opposite one
  u64 wanted = 0, others = 0;
};

Survey survey(const stz_layout& layout, const Changes& changes, Change wanted, const ChangedBox& box) {
  const int rank = layout.rank, last = rank - 1;
  Survey found;
  for (int a = 0; a < rank; a++) found.planes.emplace_back(size_t(box.extent[a]));
  const u8 opposite = u8(wanted == Change::kept ? Change::fresh : Change::kept);
  u64 at[STZ_MAX_RANK] = {};
  for_box_rows(layout, box.origin, box.extent, [&](u64 in_array, u64, u64 count) {
    const u8* state = changes.state.data() + in_array;
    u8* columns = rank ? found.planes[size_t(last)].data() : nullptr;
    u64 here = 0, others = 0;
    for (u64 x = 0; x < count; x++) {
      const u8 is = state[x] == u8(wanted);
      here += is;
      others += state[x] == opposite;
      if (columns) columns[x] |= is;
    }
    found.wanted += here;
    found.others += others;
    if (here)
      for (int a = 0; a < last; a++) found.planes[size_t(a)][size_t(at[a])] = 1;
    for (int a = last - 1; a >= 0 && ++at[a] == box.extent[a]; a--) at[a] = 0;
  });
  return found;
}

// Removes empty planes at the ends of a box.
void shrink(ChangedBox& box, Signatures& planes, int rank) {
  for (int a = 0; a < rank; a++) {
    std::vector<u8>& marks = planes[size_t(a)];
    const auto first = std::find(marks.begin(), marks.end(), 1);
    const auto end = std::find(marks.rbegin(), marks.rend(), 1).base();
    box.origin[a] += u64(first - marks.begin());
    box.extent[a] = u64(end - first);
    marks = std::vector<u8>(first, end);
  }
}

struct Gap {
  int axis = -1;
  u64 first = 0, count = 0;
};

Gap widest_gap(const Signatures& planes, int rank) {
  Gap widest;
  for (int a = 0; a < rank; a++) {
    const std::vector<u8>& marks = planes[size_t(a)];
    for (u64 i = 0; i < marks.size();) {
      u64 end = i;
      while (end < marks.size() && !marks[size_t(end)]) end++;
      if (end - i > widest.count) widest = {a, i, end - i};
      i = std::max(end, i + 1);
    }
  }
  return widest;
}

}  // namespace

std::vector<ChangedBox> boxes_of(const stz_layout& layout, const Changes& changes, Change wanted, size_t most) {
  const int rank = layout.rank;
  ChangedBox whole{};
  std::copy(layout.shape, layout.shape + rank, whole.extent);
  std::vector<ChangedBox> open{whole}, done;
  while (!open.empty()) {
    ChangedBox box = open.back();
    open.pop_back();
    Survey found = survey(layout, changes, wanted, box);
    if (found.wanted == 0) continue;
    shrink(box, found.planes, rank);
    const Gap gap = widest_gap(found.planes, rank);
    if (gap.count >= least_gap && open.size() + done.size() + 2 <= most) {
      ChangedBox lower = box, upper = box;
      lower.extent[gap.axis] = gap.first;
      upper.origin[gap.axis] += gap.first + gap.count;
      upper.extent[gap.axis] -= gap.first + gap.count;
      open.push_back(upper);
      open.push_back(lower);
      continue;
    }
    found = survey(layout, changes, wanted, box);
    box.wanted = found.wanted;
    box.others = found.others;
    done.push_back(box);
  }
  return done;
}

}  // namespace stz
