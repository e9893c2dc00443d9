#include "axis_schedule.h"

#include <algorithm>

#include "block.h"
#include "encode_level.h"

namespace stz {
namespace {

constexpr int fine_levels = 3;           // a candidate axis stays whole at that many levels
constexpr u64 trial_samples = 1u << 19;  // arrays up to twice that are tried whole
constexpr i64 probes = 3000;
constexpr double suspicious = 1.3;   // ratio of the axes' costs that makes a candidate
constexpr double worthwhile = 0.97;  // of the bytes, for a trial to win

// Mean of log2(1 + |residual| / unit) of the cubic through the neighbours along one axis, at level 0; negative: the axis has no say.
template <class S>
double axis_cost(const Index& n, const S* samples, const u8* kinds, double unit, size_t axis) {
  if (n[axis] < 3) return n[axis] == 2 ? 1e3 : -1;
  i64 stride = 1;
  for (size_t a = axes - 1; a > axis; a--) stride *= n[a];
  const i64 reach = n[axis] >= 8 ? 3 : 1, total = n[0] * n[1] * n[2] * n[3];
  u64 seed = 11, count = 0;
  double cost = 0;
  for (i64 k = 0; k < probes; k++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    i64 at = i64((seed >> 20) % u64(total)), c = at / stride % n[axis];
    if (c < reach || c >= n[axis] - reach) continue;
    if (kinds && (kinds[at] || kinds[at - stride] || kinds[at + stride] || kinds[at - reach * stride] || kinds[at + reach * stride]))
      continue;
    double near = double(samples[at - stride]) + double(samples[at + stride]);
    double p = reach == 3 ? (9 * near - (double(samples[at - 3 * stride]) + double(samples[at + 3 * stride]))) / 16 : near / 2;
    double r = __builtin_fabs(double(samples[at]) - p) / unit;
    cost += double(log2_fixed(u64((r < 1e15 ? r : 1e15) * 256) + 256)) / 256 - 8;
    count++;
  }
  return count >= 20 ? cost / double(count) : -1;
}

}  // namespace

template <class S>
std::array<int, axes> choose_axis_offsets(const Header& h, const S* samples, const u8* kinds, double unit, int threads) {
  const Hierarchy whole = hierarchy_of(h);
  std::array<int, axes> none{};
  double cost[axes], lowest = 1e300;
  int ranked[axes] = {0, 1, 2, 3}, voices = 0;
  for (size_t a = 0; a < axes; a++) {
    cost[a] = axis_cost(whole.n, samples, kinds, unit, a);
    if (cost[a] < 0) continue;
    voices++;
    lowest = std::min(lowest, cost[a]);
  }
  if (voices < 2) return none;
  std::stable_sort(ranked, ranked + axes, [&](int a, int b) { return cost[a] > cost[b]; });

  // the part that is tried: the middle of the first item, its longest axes cut
  Index size = whole.n, low{};
  auto volume = [&] { return u64(size[0]) * u64(size[1]) * u64(size[2]) * u64(size[3]); };
  if (volume() > 2 * trial_samples)
    while (volume() > trial_samples) {
      auto longest = std::max_element(size.begin(), size.end());
      *longest = (*longest + 1) / 2;
    }
  for (size_t a = 0; a < axes; a++) low[a] = (whole.n[a] - size[a]) / 2;
  std::vector<S> part;
  std::vector<u8> part_kinds;
  auto trial = [&](const std::array<int, axes>& offset) {
    if (part.empty()) {
      for_rows(low, {low[0] + size[0], low[1] + size[1], low[2] + size[2], low[3] + 1}, [&](i64 i, i64 j, i64 k) {
        i64 at = ((i * whole.n[1] + j) * whole.n[2] + k) * whole.n[3] + low[3];
        part.insert(part.end(), samples + at, samples + at + size[3]);
        if (kinds) part_kinds.insert(part_kinds.end(), kinds + at, kinds + at + size[3]);
      });
      for (u8& kind : part_kinds)
        if (kind == mask_other) kind = mask_nan;  // their bits do not matter here
    }
    Header t = h;
    t.partial = false;
    t.layout.rank = axes;
    for (size_t a = 0; a < axes; a++) t.layout.shape[a] = u64(size[a]);
    if (components(t.layout.dtype) == 2) t.layout.dtype = t.layout.dtype == STZ_C64 ? STZ_F32 : STZ_F64;
    t.offset = offset;
    return encode_sections<S>(t, part.data(), kinds ? part_kinds.data() : nullptr, {}, threads).size();
  };
  std::array<int, axes> best = none, all = none;
  size_t best_size = 0;
  int candidates = 0, taken = 0;
  auto consider = [&](const std::array<int, axes>& offset) {
    if (!best_size) best_size = trial(none);
    size_t s = trial(offset);
    if (double(s) > worthwhile * double(best_size)) return;
    best_size = s;
    best = offset;
    taken++;
  };
  for (int rank = 0; rank + 1 < voices; rank++) {
    const size_t axis = size_t(ranked[rank]);
    if (cost[axis] < suspicious * lowest + 0.02) break;
    std::array<int, axes> offset = best;
    offset[axis] = all[axis] = fine_levels;
    candidates++;
    consider(offset);
  }
  if (candidates > 1 && taken < candidates) consider(all);
  return best;
}

template std::array<int, axes> choose_axis_offsets(const Header&, const float*, const u8*, double, int);
template std::array<int, axes> choose_axis_offsets(const Header&, const double*, const u8*, double, int);
template std::array<int, axes> choose_axis_offsets(const Header&, const i64*, const u8*, double, int);

}  // namespace stz
