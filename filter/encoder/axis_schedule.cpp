#include "encoder/axis_schedule.h"

#include <algorithm>

#include "base/pseudo_random.h"
#include "base/stages.h"
#include "encoder/fit/fit.h"
#include "encoder/plan/effort.h"
#include "encoder/write/code_sections.h"
#include "predict/block.h"

namespace stz {
namespace {

constexpr int fine_levels = 3;  // a candidate axis is not split at this many finest levels
// Trials use an eighth of the array, within these limits. Arrays up to twice the lower limit are tried as a whole.
constexpr u64 fewest_tried = 1u << 17, most_tried = 1u << 19;
// Runs of neighbours whose residuals are looked at along an axis: one in so many samples, within these limits.
constexpr int fewest_cost_probes = 48, cost_probes = 192, probe_run = 16;
constexpr u64 probed_share = 128;
constexpr double suspicious = 1.3;      // ratio of costs that makes an axis a candidate
constexpr double worthwhile = 0.98;     // of the bytes: required of a trial on a part
constexpr double still_better = 0.995;  // required of a trial on the whole, and of all candidates together

u64 volume(const Index& size) { return u64(size[0]) * u64(size[1]) * u64(size[2]) * u64(size[3]); }

// The mean of log2(1 + |residual| / unit) for cubic interpolation along one axis at level 0. Negative: too few samples to judge.
template <class S>
double axis_cost(const Index& n, const S* samples, const u8* specials, double unit, size_t axis) {
  using R = RealOf<S>;
  if (n[axis] < 3) return n[axis] == 2 ? 1e3 : -1;
  const Index strides = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  const i64 near = strides[axis], reach = n[axis] >= 8 ? 3 : 1, far = reach * near;
  const R inverse = R(1 / unit);
  u64 seed = 11;
  auto draw = [&](i64 below) { return i64(pseudo_random(seed) % u64(below)); };
  float residual[(cost_probes + 1) * probe_run];
  int count = 0;
  const int probes = int(std::clamp<u64>(volume(n) / probed_share, fewest_cost_probes, cost_probes));
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

// The extents of a part of at most `most` samples. The longest axes are cut; candidates only if the others are short.
Index part_extents(const Index& n, const RankedAxes& ranked, u64 most) {
  Index size = n;
  while (volume(size) > most) {
    i64 longest = 0;
    size_t cut = 0;
    for (size_t rank = 0; rank < axes; rank++) {
      const i64 length = size[ranked.axis[rank]] / (rank < ranked.candidates ? 4 : 1);
      if (length <= longest) continue;
      longest = length;
      cut = ranked.axis[rank];
    }
    size[cut] = (size[cut] + 1) / 2;
  }
  return size;
}

// The middle part of the first item of an array with extents n, as its own plan.
template <class S>
Plan<S> middle_part(const Plan<S>& whole, const Index& n, const Index& size) {
  Header h = whole.header;
  h.partial = false;
  h.axis_map.clear();
  stz_layout& layout = h.layout;
  layout.rank = axes;
  for (size_t a = 0; a < axes; a++) layout.shape[a] = u64(size[a]);
  if (components(layout.dtype) == 2) layout.dtype = layout.dtype == STZ_C64 ? STZ_F32 : STZ_F64;

  Index low;
  for (size_t a = 0; a < axes; a++) low[a] = (n[a] - size[a]) / 2;
  Buffer<S> samples(size_t(volume(size)));
  Masks masks;
  S* out = samples.data();
  for_rows(low, {low[0] + size[0], low[1] + size[1], low[2] + size[2], low[3] + 1}, [&](i64 i, i64 j, i64 k) {
    const i64 at = ((i * n[1] + j) * n[2] + k) * n[3] + low[3];
    out = std::copy_n(whole.samples + at, size[3], out);
    if (whole.specials()) masks.specials.insert(masks.specials.end(), whole.specials() + at, whole.specials() + at + size[3]);
  });
  for (u8& kind : masks.specials)
    if (kind == special_literal) kind = special_nan;  // their bits do not matter here
  StreamRequest request;
  request.effort = whole.effort;
  request.content_check = STZ_CONTENT_CHECK_NONE;
  request.threads = whole.threads;
  Plan<S> part(h, request, samples.data(), std::make_shared<const Masks>(std::move(masks)), whole.unit);
  part.own = std::move(samples);
  part.dead_zone = whole.dead_zone;
  part.level_ratio = whole.level_ratio;
  return part;
}

// Encodes an array, or a part of it, with several axis offsets.
template <class Out, class S>
class ScheduleTrials {
 public:
  struct Trial {
    AxisOffsets offset{};  // as requested; levels that would split no axis are removed when writing
    Sections<Out> sections;
  };

  // `n`: the extents of an item.
  ScheduleTrials(const Plan<S>& plan, const Index& n) : plan_(plan), n_(n) {}

  // The smallest trial: without offsets, with each candidate's offset in addition to those accepted before it, and with all candidates'
  // offsets. Offsets are accepted if they leave at most the share `required` of the bytes.
  Trial smallest(const RankedAxes& ranked, double required) const {
    Trial least = try_with({});
    AxisOffsets all{};
    size_t taken = 0;
    for (size_t rank = 0; rank < ranked.candidates; rank++) {
      AxisOffsets offset = least.offset;
      offset[ranked.axis[rank]] = all[ranked.axis[rank]] = fine_levels;
      taken += replace_if_smaller(least, try_with(offset), required);
    }
    if (ranked.candidates > 1 && taken < ranked.candidates) replace_if_smaller(least, try_with(all), taken ? still_better : required);
    return least;
  }

  // Returns `least`, or a smaller trial in which the most expensive of its late-split axes is never split, like an axis of the batch.
  Trial with_batch(const RankedAxes& ranked, Trial least) const {
    for (size_t rank = 0; rank < ranked.candidates; rank++) {
      AxisOffsets offset = least.offset;
      if (offset[ranked.axis[rank]] == 0) continue;
      offset[ranked.axis[rank]] = never_split;
      replace_if_smaller(least, try_with(offset), still_better);
      break;
    }
    return least;
  }

 private:
  Trial try_with(const AxisOffsets& offset) const {
    STZ_STAGE(fit);
    return {offset, sections_of<Out>(plan_, {without_unsplit_levels(n_, offset)})};
  }

  static bool replace_if_smaller(Trial& least, Trial candidate, double required) {
    if (candidate.sections.empty()) return false;
    if (!least.sections.empty() && candidate.sections.size() > required * least.sections.size()) return false;
    least = std::move(candidate);
    return true;
  }

  const Plan<S>& plan_;
  const Index n_;
};

}  // namespace

template <class S>
RankedAxes rank_axes(const Plan<S>& plan) {
  STZ_STAGE(probe);
  const Index n = hierarchy_of(plan.header).n;
  double cost[axes], lowest = 1e300;
  size_t measured = 0;
  for (size_t a = 0; a < axes; a++) {
    cost[a] = axis_cost(n, plan.samples, plan.specials(), plan.unit, a);
    if (cost[a] < 0) continue;
    measured++;
    lowest = std::min(lowest, cost[a]);
  }
  RankedAxes ranked;
  std::stable_sort(ranked.axis.begin(), ranked.axis.end(), [&](size_t a, size_t b) { return cost[a] > cost[b]; });
  while (ranked.candidates + 1 < measured && cost[ranked.axis[ranked.candidates]] >= suspicious * lowest + 0.02) ranked.candidates++;
  return ranked;
}

template <class Out, class S>
AxisSchedule<Out> choose_axis_schedule(const Plan<S>& plan, const RankedAxes& ranked) {
  const Hierarchy hierarchy = hierarchy_of(plan.header);
  const Index& n = hierarchy.n;
  if (ranked.candidates == 0 || !effort_of(plan.effort).axis_trials) return {};

  const u64 tried = std::clamp(volume(n) / 8, fewest_tried, most_tried);
  const bool small_item = volume(n) <= 2 * tried;
  if (small_item && hierarchy.batch == 1) {
    const ScheduleTrials<Out, S> trials(plan, n);
    // In small arrays coarse levels hold a notable share of the bytes, so never splitting an axis is worth a trial.
    auto least = trials.with_batch(ranked, trials.smallest(ranked, still_better));
    return {least.offset, true, std::move(least.sections)};
  }
  const Index size = small_item ? n : part_extents(n, ranked, tried);
  const Plan<S> part = middle_part(plan, n, size);
  const AxisOffsets offset = ScheduleTrials<Out, S>(part, size).smallest(ranked, worthwhile).offset;
  return {without_unsplit_levels(n, offset), false, {}};
}

#define STZ_INSTANTIATE(S)                                                               \
  template RankedAxes rank_axes(const Plan<S>&);                                         \
  template AxisSchedule<Stream> choose_axis_schedule(const Plan<S>&, const RankedAxes&); \
  template AxisSchedule<SizeEstimate> choose_axis_schedule(const Plan<S>&, const RankedAxes&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
