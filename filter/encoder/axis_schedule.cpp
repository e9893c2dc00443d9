#include "encoder/axis_schedule.h"

#include <algorithm>

#include "base/stages.h"
#include "encoder/encode_level.h"
#include "encoder/fit.h"
#include "format/block.h"

namespace stz {
namespace {

constexpr int fine_levels = 3;  // a candidate axis stays whole at that many levels
// Tried on an eighth of the array, within these limits; arrays up to twice the lower one are tried whole.
constexpr u64 fewest_tried = 1u << 17, most_tried = 1u << 19;
constexpr int probes = 192, probe_run = 16;
constexpr double suspicious = 1.3;      // ratio of the axes' costs that makes a candidate
constexpr double worthwhile = 0.97;     // of the bytes, for a trial of a part to win
constexpr double still_better = 0.995;  // for a trial of the whole, or for all candidates together to win over some

// Mean of log2(1 + |residual| / unit) of the cubic through the neighbours along one axis, at level 0; negative: the axis has no say.
template <class S>
double axis_cost(const Index& n, const S* samples, const u8* specials, double unit, size_t axis) {
  using R = RealOf<S>;
  if (n[axis] < 3) return n[axis] == 2 ? 1e3 : -1;
  const Index strides = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  const i64 near = strides[axis], reach = n[axis] >= 8 ? 3 : 1, far = reach * near;
  const R inverse = R(1 / unit);
  u64 seed = 11;
  auto draw = [&](i64 below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return i64((seed >> 33) % u64(below));
  };
  float residual[(probes + 1) * probe_run];
  int count = 0;
  for (int k = 0; k < probes; k++) {
    i64 low[axes], length = 1;
    for (size_t a = 0; a < axes; a++) {
      const i64 from = a == axis ? reach : 0, places = n[a] - 2 * from;
      if (a == 3) length = std::min<i64>(places, probe_run);
      low[a] = from + draw(a == 3 ? places - length + 1 : places);
    }
    const i64 first = ((low[0] * n[1] + low[1]) * n[2] + low[2]) * n[3] + low[3];
    const S* x = samples + first;
    float* out = residual + count;
    for (i64 i = 0; i < length; i++) {
      const R sum = R(x[i - near]) + R(x[i + near]);
      const R p = reach == 3 ? (R(9) * sum - (R(x[i - far]) + R(x[i + far]))) * R(0.0625) : sum * R(0.5);
      const float r = float((R(x[i]) - p) * inverse);
      out[i] = __builtin_fabsf(r) < 1e15f ? r : 1e15f;
    }
    if (specials) {
      const u8* kind = specials + first;
      i64 kept = 0;
      for (i64 i = 0; i < length; i++)
        if (!(kind[i] || kind[i - near] || kind[i + near] || kind[i - far] || kind[i + far])) out[kept++] = out[i];
      length = kept;
    }
    count += int(length);
  }
  if (count < 20) return -1;
  const int measured = count;
  while (count % fit_run) residual[count++] = 0;
  return kernels().fit.cost(nullptr, 0, residual, nullptr, count, 1, nullptr) / measured;
}

}  // namespace

template <class S>
Bytes encode_with_axis_schedule(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, double unit,
                                int threads) {
  using Offsets = std::array<int, axes>;
  const Offsets none{};
  auto encode_with = [&](const Offsets& offset) {
    h.offset = offset;
    return encode_sections<S>(h, samples, specials, literals, threads);
  };
  h.offset = none;
  const Hierarchy whole = hierarchy_of(h);
  double cost[axes], lowest = 1e300;
  int ranked[axes] = {0, 1, 2, 3}, voices = 0, candidates = 0;
  for (size_t a = 0; a < axes; a++) {
    cost[a] = axis_cost(whole.n, samples, specials, unit, a);
    if (cost[a] < 0) continue;
    voices++;
    lowest = std::min(lowest, cost[a]);
  }
  std::stable_sort(ranked, ranked + axes, [&](int a, int b) { return cost[a] > cost[b]; });
  while (candidates + 1 < voices && cost[ranked[candidates]] >= suspicious * lowest + 0.02) candidates++;
  if (!candidates) return encode_with(none);

  // the part that is tried: the middle of the first item, its longest axes cut, candidates only where the others are short
  Index size = whole.n, low{};
  auto volume = [&] { return u64(size[0]) * u64(size[1]) * u64(size[2]) * u64(size[3]); };
  const u64 tried = std::clamp(volume() / 8, fewest_tried, most_tried);
  const bool all_tried = volume() <= 2 * tried && whole.batch == 1;
  if (volume() > 2 * tried)
    while (volume() > tried) {
      i64 longest = 0;
      size_t cut = 0;
      for (int rank = 0; rank < int(axes); rank++) {
        const i64 length = size[size_t(ranked[rank])] / (rank < candidates ? 4 : 1);
        if (length <= longest) continue;
        longest = length;
        cut = size_t(ranked[rank]);
      }
      size[cut] = (size[cut] + 1) / 2;
    }
  for (size_t a = 0; a < axes; a++) low[a] = (whole.n[a] - size[a]) / 2;
  std::vector<S> part;
  std::vector<u8> part_specials;
  if (!all_tried) {
    for_rows(low, {low[0] + size[0], low[1] + size[1], low[2] + size[2], low[3] + 1}, [&](i64 i, i64 j, i64 k) {
      i64 at = ((i * whole.n[1] + j) * whole.n[2] + k) * whole.n[3] + low[3];
      part.insert(part.end(), samples + at, samples + at + size[3]);
      if (specials) part_specials.insert(part_specials.end(), specials + at, specials + at + size[3]);
    });
    for (u8& kind : part_specials)
      if (kind == special_literal) kind = special_nan;  // their bits do not matter here
  }
  struct Trial {
    Bytes sections;
    std::vector<u64> sizes;
  };
  auto trial = [&](const Offsets& offset) {
    STZ_STAGE(fit);
    Header t = h;
    t.offset = offset;
    Trial result;
    if (all_tried)
      result.sections = encode_sections<S>(t, samples, specials, literals, threads);
    else {
      t.partial = false;
      t.layout.rank = axes;
      for (size_t a = 0; a < axes; a++) t.layout.shape[a] = u64(size[a]);
      if (components(t.layout.dtype) == 2) t.layout.dtype = t.layout.dtype == STZ_C64 ? STZ_F32 : STZ_F64;
      result.sections = encode_sections<S>(t, part.data(), specials ? part_specials.data() : nullptr, {}, threads);
    }
    result.sizes = t.section;
    return result;
  };
  Offsets best = none, all = none;
  Trial least = trial(none);
  int taken = 0;
  auto consider = [&](const Offsets& offset, double required) {
    Trial candidate = trial(offset);
    if (double(candidate.sections.size()) > required * double(least.sections.size())) return;
    least = std::move(candidate);
    best = offset;
    taken++;
  };
  const double required = all_tried ? still_better : worthwhile;
  for (int rank = 0; rank < candidates; rank++) {
    const size_t axis = size_t(ranked[rank]);
    Offsets offset = best;
    offset[axis] = all[axis] = fine_levels;
    consider(offset, required);
  }
  if (candidates > 1 && taken < candidates) consider(all, taken ? still_better : required);
  if (!all_tried) return encode_with(best);
  h.offset = best;
  h.section = std::move(least.sizes);
  return std::move(least.sections);
}

template Bytes encode_with_axis_schedule(Header&, const float*, const u8*, const std::vector<LiteralElement>&, double, int);
template Bytes encode_with_axis_schedule(Header&, const double*, const u8*, const std::vector<LiteralElement>&, double, int);
template Bytes encode_with_axis_schedule(Header&, const i64*, const u8*, const std::vector<LiteralElement>&, double, int);

}  // namespace stz
