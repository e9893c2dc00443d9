#include "encoder/try_edge.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "base/stages.h"
#include "encoder/plan/effort.h"
#include "encoder/write/code_sections.h"
#include "predict/level_quantizers.h"

namespace stz {
namespace {

constexpr u64 fewest_probed = 256, most_probed = 2048, probed_edge_share = 64;  // samples
constexpr i64 edge_probe_run = 8;                                               // adjacent samples along the last axis
constexpr i64 reach = 3;
constexpr int fewest_missed = 4;
// Bits to say which candidate a sample is, and the largest share of the bits that edge mode may take. Different for flat arrays, in which
// most samples equal their neighbours.
constexpr double flat_choice = 1, flat_share = 1;
constexpr double other_choice = 2.5, other_share = 0.93;
constexpr double hopeless_share = 1.3;  // after enough_missed samples
constexpr int enough_missed = 128;
// Arrays of at most this many samples are also tried without axis offsets, because offsets found for plain streams were no help for small
// arrays.
constexpr u64 small_array = 1 << 17;
// The levels above 0 may take so many times their bytes without edge mode. If they take more, level 0 will take more too.
constexpr double hopeless_coarse = 1.1;

// Examines a few samples of level 0. Those that the linear prediction misses are judged as candidates of edge mode and as codes.
template <class S>
class EdgeProbe {
  using Real = RealOf<S>;

 public:
  // `unit`: half a quantization step.
  EdgeProbe(const Quantizer<S>& q, const Index& n, const S* samples, const u8* specials, double unit)
      : q_(q), n_(n), stride_{n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}, samples_(samples), specials_(specials), unit_(unit) {
    for (size_t a = 0; a < axes; a++)
      if (n[a] > 2 * reach) along_[ways_++] = a;
  }

  bool promises() {
    if (!ways_) return false;
    const u64 wanted = std::clamp(u64(n_[0] * stride_[0]) / probed_edge_share, fewest_probed, most_probed);
    const i64 run = n_[3] > 2 * reach ? std::min(edge_probe_run, n_[3] - 2 * reach) : 1;
    u64 seed = 5;
    for (u64 r = 0; r < wanted / u64(edge_probe_run); r++) {
      if (missed_ >= enough_missed && hopeless()) return false;
      i64 first = 0;
      for (size_t a = 0; a < axes; a++) {
        const i64 margin = n_[a] > 2 * reach ? reach : 0, places = n_[a] - 2 * margin - (a == 3 ? run - 1 : 0);
        first += (margin + i64(pseudo_random(seed) % u64(places))) * stride_[a];
      }
      for (i64 x = 0; x < run; x++)
        if (!specials_ || !specials_[first + x]) look_at(samples_ + first + x);
    }
    const bool flat = 2 * flat_ > all_;
    return missed_ >= fewest_missed && in_edge_mode(flat) < (flat ? flat_share : other_share) * bits_;
  }

 private:
  double in_edge_mode(bool flat) const { return not_served_ + (flat ? flat_choice : other_choice) * missed_; }
  // Whether more samples cannot change the result.
  bool hopeless() const { return 4 * flat_ < all_ && in_edge_mode(false) > hopeless_share * bits_; }
  bool serves(S x, Real p) const { return keeps_bound(q_, x, sample_of_code(q_, p, 0)); }

  void look_at(const S* s) {
    Real sum = 0;
    bool flat = true;
    for (int k = 0; k < ways_; k++) {
      const i64 d = stride_[along_[k]];
      sum += Real(9) * (Real(s[-d]) + Real(s[d])) - (Real(s[-reach * d]) + Real(s[reach * d]));
      flat &= s[-d] == *s && s[d] == *s;
    }
    const Real p = sum / Real(16 * ways_);
    all_++;
    flat_ += flat;
    if (serves(*s, p)) return;
    missed_++;
    const double distance = __builtin_fabs(difference(*s, p)) / unit_;
    const double bits = 1 + rough_log2(1 + (distance < 1e15 ? distance : 1e15));
    bits_ += bits;
    if (!any_serves(s)) not_served_ += bits;
  }

  static double difference(S x, Real p) {
    if constexpr (std::is_floating_point_v<S>)
      return double(x) - double(p);
    else
      return double(i64(u64(x) - u64(to_integer(p))));  // large integers: may be less than a double can resolve
  }

  bool any_serves(const S* s) const {
    for (int k = 0; k < ways_; k++) {
      const i64 d = stride_[along_[k]];
      const Real low = Real(s[-d]), high = Real(s[d]);
      if (keeps_bound(q_, *s, s[-d]) || keeps_bound(q_, *s, s[d]) || serves(*s, Real(0.5) * (low + high)) ||
          serves(*s, low + (low - Real(s[-reach * d])) * Real(0.5)) || serves(*s, high + (high - Real(s[reach * d])) * Real(0.5)))
        return true;
    }
    return false;
  }

  const Quantizer<S>& q_;
  const Index n_, stride_;
  const S* const samples_;
  const u8* const specials_;
  const double unit_;
  size_t along_[axes];
  int ways_ = 0, all_ = 0, flat_ = 0, missed_ = 0;
  double bits_ = 0, not_served_ = 0;  // bits of the codes of missed samples; of those among them that no candidate fits
};

// The bytes of the sections of the levels above 0; infinite if there are no sections.
template <class Out>
double coarse_bytes(const Sections<Out>& sections) {
  if (sections.empty()) return std::numeric_limits<double>::infinity();
  const std::vector<u64>& sizes = sections.header.section;
  return double(std::accumulate(sizes.begin(), sizes.end() - 1, u64(0)));
}

}  // namespace

template <class S>
bool edge_mode_promises(const Plan<S>& plan) {
  STZ_STAGE(probe);
  const Trials trials = effort_of(plan.effort).edge_mode;
  if (trials != Trials::promising) return trials == Trials::all;
  const Hierarchy hierarchy = hierarchy_of(plan.header);
  const Quantizer<S> q = level_quantizers<S>(plan.header, hierarchy.level.size())[0];
  return EdgeProbe<S>(q, hierarchy.n, plan.samples, plan.specials(), plan.unit).promises();
}

template <class Out, class S>
void try_edge_mode(const Plan<S>& plan, Sections<Out>& sections) {
  STZ_STAGE(fit);
  const Hierarchy hierarchy = hierarchy_of(sections.header);
  if (hierarchy.base_level == 0) return;
  const AxisOffsets offset = sections.header.offset;
  LearnedSet learned = std::move(sections.learned);
  const bool plain = !sections.empty();
  const double bytes = sections.size();
  keep_smaller(sections, sections_of<Out>(plan, {offset, true, hopeless_coarse * coarse_bytes(sections)}));
  if (offset != AxisOffsets{} && hierarchy.level[0].samples() * hierarchy.batch <= small_array)
    keep_smaller(sections, sections_of<Out>(plan, {{}, true}));
  learned.edge = !plain || sections.size() < bytes;
  sections.learned = std::move(learned);
}

#define STZ_INSTANTIATE(S)                                        \
  template bool edge_mode_promises(const Plan<S>&);               \
  template void try_edge_mode(const Plan<S>&, Sections<Stream>&); \
  template void try_edge_mode(const Plan<S>&, Sections<SizeEstimate>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
