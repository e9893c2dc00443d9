#include "reader/damage_report.h"

#include <algorithm>

#include "format/patches.h"
#include "grid/box_rows.h"
#include "reader/copy_elements.h"

namespace stz {
namespace {

stz_layout layout_of(stz_layout layout, const Request& request) {
  std::copy(request.count, request.count + layout.rank, layout.shape);
  return layout;
}

// The coarsest level that has a coordinate of level l along an axis, at most the base level.
size_t first_level(const Hierarchy& h, size_t l, size_t axis, i64 x) {
  for (; l < size_t(h.base_level); l++) {
    if (!h.level[l].split[axis]) continue;
    if (x & 1) break;
    x /= 2;
  }
  return l;
}

// The coarsest level that has a sample of level l.
size_t first_level(const Hierarchy& h, size_t l, i64 i, i64 j, i64 k, i64 x) {
  return std::min({first_level(h, l, 0, i), first_level(h, l, 1, j), first_level(h, l, 2, k), first_level(h, l, 3, x)});
}

// The factor from coordinates of a level to those of level l, which is the same or finer.
i64 scale_between(const Hierarchy& h, size_t l, size_t level, size_t axis) {
  i64 scale = 1;
  for (; l < level; l++) scale *= h.level[l].split[axis] ? 2 : 1;
  return scale;
}

}  // namespace

bool is_damage(int code) { return code <= STZ_ERROR_MAGIC && code >= STZ_ERROR_CONTENT; }

DamageReport::DamageReport(const stz_layout& layout, const Request& request)
    : requested_(layout_of(layout, request)), width_(component_size(layout.dtype)) {}

size_t DamageReport::note(int error, int level, u64 block) {
  auto same = [&](const Damage& d) { return d.error == error && d.level == level && d.block == block && d.patch < 0; };
  const auto it = std::find_if(found_.begin(), found_.end(), same);
  if (it != found_.end()) return size_t(it - found_.begin());
  Damage damage;
  damage.error = error;
  damage.level = level;
  damage.block = block;
  found_.push_back(damage);
  return found_.size() - 1;
}

std::vector<u32>& DamageReport::marks() {
  if (marks_.empty()) marks_.resize(size_t(element_count(requested_)) * size_t(components(requested_.dtype)));
  return marks_;
}

void DamageReport::lose_all(size_t cause) {
  for (u32& m : marks())
    if (!m) m = u32(cause + 1);
}

void DamageReport::lose_elements(size_t cause, u64 first, u64 count) {
  marks();
  const u64 bytes = element_size(requested_.dtype);
  for (u64 at = first * bytes; at < (first + count) * bytes; at += width_) mark(at, cause);
}

// Marks the selected samples in [low, high) for which is_lost(i, j, k, x) is true. Coordinates are those of the level where the selection
// is the progression p.
template <class IsLost>
void DamageReport::mark_box(const Index& low, const Index& high, const Progression& p, const Selection& selection, u64 offset, size_t cause,
                            IsLost is_lost) {
  marks();
  std::array<std::vector<SelectedRun>, axes> runs;
  for (size_t a = 0; a < axes; a++) runs[a] = selection.runs_between(p, a, low[a], high[a]);
  Progression run;
  for (size_t a = 0; a < axes; a++) {
    run.count[a] = selection.run_count(p, a);
    run.step[a] = selection.run_step(p, a);
  }
  const Index& stride = selection.stride;
  for (const SelectedRun& i : runs[0])
    for (const SelectedRun& j : runs[1])
      for (const SelectedRun& k : runs[2])
        for (const SelectedRun& x : runs[3]) {
          run.start = {i.start, j.start, k.start, x.start};
          Index from, to;
          for (size_t a = 0; a < axes; a++) {
            from[a] = first_index(run, a, low[a]);
            to[a] = first_index(run, a, high[a]);
          }
          const i64 begin = i64(offset) + i.offset + j.offset + k.offset + x.offset;
          for_rows(from, to, [&](i64 at0, i64 at1, i64 at2) {
            const i64 row = begin + at0 * stride[0] + at1 * stride[1] + at2 * stride[2];
            const i64 c0 = run.start[0] + at0 * run.step[0], c1 = run.start[1] + at1 * run.step[1], c2 = run.start[2] + at2 * run.step[2];
            for (i64 at3 = from[3]; at3 < to[3]; at3++)
              if (is_lost(c0, c1, c2, run.start[3] + at3 * run.step[3])) mark(u64(row + at3 * stride[3]), cause);
          });
        }
}

void DamageReport::lose(size_t cause, const Selection& selection) {
  if (selection.none_valid) return;
  Index low, high;
  for (size_t a = 0; a < axes; a++) {
    low[a] = selection.wanted.start[a];
    high[a] = selection.wanted.last(a) + 1;
  }
  selection.for_items(
      [&](u64, u64 offset) { mark_box(low, high, selection.wanted, selection, offset, cause, [](i64, i64, i64, i64) { return true; }); });
}

void DamageReport::lose(const Hierarchy& h, size_t l, const Progression& p, const Selection& selection, u64 offset, const LostArea& area) {
  Index low, high;
  for (size_t a = 0; a < axes; a++) {
    const i64 scale = scale_between(h, l, area.level, a);
    low[a] = area.box.low[a] * scale;
    high[a] = (area.box.low[a] + area.box.size[a] - 1) * scale + 1;
  }
  mark_box(low, high, p, selection, offset, area.cause,
           [&](i64 i, i64 j, i64 k, i64 x) { return first_level(h, l, i, j, k, x) == area.level; });
}

void DamageReport::lose_around(const Hierarchy& h, const Progression& p, const Selection& selection, u64 offset, const LostArea& area,
                               const Index& margin) {
  lose(h, 0, p, selection, offset, area);
  Index low, high;
  for (size_t a = 0; a < axes; a++) {
    const i64 scale = scale_between(h, 0, area.level, a);
    low[a] = std::max<i64>(0, area.box.low[a] * scale - margin[a]);
    high[a] = std::min(h.level[0].n[a], (area.box.low[a] + area.box.size[a] - 1) * scale + 1 + margin[a]);
  }
  mark_box(low, high, p, selection, offset, area.cause, [&](i64 i, i64 j, i64 k, i64 x) { return first_level(h, 0, i, j, k, x) == 0; });
}

void DamageReport::lay_over(const DamageReport& of_patch, int number, const u64* first, const u64* count, const Patch& patch,
                            const u8* elements, u8* out) {
  const size_t parts = size_t(components(requested_.dtype)), element = width_ * parts;
  const size_t before = found_.size();
  for (Damage damage : of_patch.found_) {
    damage.patch = number;
    found_.push_back(damage);
  }
  if (!of_patch.marks_.empty()) marks();
  u8 pattern[8];
  store_bits(pattern, patch.pattern, width_, swapped(requested_));
  for_box_rows(requested_, first, count, [&](u64 in_array, u64 in_box, u64 n) {
    for (u64 e = 0; e < n; e++) {
      const u8* from = elements + (in_box + e) * element;
      const u32* lost = of_patch.marks_.empty() ? nullptr : &of_patch.marks_[size_t((in_box + e) * parts)];
      u32 cause = 0;
      // true: all intact components have the transparent pattern, so what is beneath the patch may show
      bool beneath = patch.transparent;
      for (size_t part = 0; part < parts; part++) {
        if (lost && lost[part])
          cause = cause ? cause : lost[part];
        else
          beneath &= memcmp(from + part * width_, pattern, width_) == 0;
      }
      if (beneath && !cause) continue;
      u32* marked = marks_.empty() ? nullptr : &marks_[size_t((in_array + e) * parts)];
      for (size_t part = 0; part < parts; part++) {
        const u32 why = beneath ? cause : lost ? lost[part] : 0;
        if (marked) marked[part] = why ? u32(before) + why : 0;
      }
      memcpy(out + (in_array + e) * element, from, element);
    }
  });
}

void DamageReport::settle(const u8* element, u8* out) {
  if (marks_.empty()) return;
  const int rank = requested_.rank;
  const size_t parts = size_t(components(requested_.dtype));
  std::array<u64, STZ_MAX_RANK> at{};
  for (size_t k = 0; k < marks_.size(); k += parts) {
    for (size_t part = 0; part < parts; part++) {
      if (!marks_[k + part]) continue;
      Damage& damage = found_[marks_[k + part] - 1];
      for (int r = 0; r < rank; r++) {
        damage.low[size_t(r)] = damage.lost ? std::min(damage.low[size_t(r)], at[size_t(r)]) : at[size_t(r)];
        damage.high[size_t(r)] = std::max(damage.high[size_t(r)], at[size_t(r)] + 1);
      }
      damage.lost++;
      memcpy(out + (k + part) * width_, element + part * width_, width_);
    }
    for (int r = rank; r-- > 0;) {
      if (++at[size_t(r)] < requested_.shape[r]) break;
      at[size_t(r)] = 0;
    }
  }
}

}  // namespace stz
