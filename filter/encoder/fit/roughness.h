// Estimates the cost of samples from their neighbours. This shows how well sampled boxes represent a level. Encoder only.
#pragma once
#include <algorithm>

#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "encoder/fit/sampled_boxes.h"

namespace stz {

struct RoughnessSum {
  double bits = 0;
  u64 samples = 0;
  double mean() const { return samples ? bits / double(samples) : 0; }
};

// The roughness of one level. Its samples are read from their places in level 0.
template <class S>
class Roughness {
 public:
  Roughness(const LevelSource<S>& source, size_t l)
      : source_(source), level_(source.level(l)), step_(2 * source.unit(l)), unit_(source.units(l)) {
    const Index& n = source.level(0).n;
    const Index stride{n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
    for (size_t a = 0; a < axes; a++) {
      stride_[a] = unit_[a] * stride[a];
      if (level_.split[a] && level_.n[a] > 2 * reach) along_[ways_++] = a;
    }
  }

  // Estimates at `count` places spread evenly over the level.
  RoughnessSum of_level(u64 count) const {
    RoughnessSum sum;
    Ahead ahead(*this, sum);
    u64 seed = 3;
    const double samples = double(level_.samples() * source_.batch());
    for (u64 r = 0; r < count; r++) {
      u64 at = u64(samples * (double(r) + double(pseudo_random(seed) & 1023) / 1024) / double(count));
      Index place;
      for (size_t a = axes; a-- > 0; at /= u64(level_.n[a])) place[a] = i64(at % u64(level_.n[a]));
      ahead.add(at, place);
    }
    ahead.finish();
    return sum;
  }

  // Estimates at about `count` places in boxes. `variance`: gets the variance of the mean of the boxes, divided by its square.
  RoughnessSum of_boxes(const std::vector<SampledBox<S>>& boxes, u64 count, double& variance) const {
    constexpr size_t fewest = 8;  // places in a box
    RoughnessSum sum;
    u64 seed = 7;
    double of_boxes = 0, squares = 0;
    for (const SampledBox<S>& box : boxes) {
      RoughnessSum of_box;
      Ahead ahead(*this, of_box);
      for (size_t r = 0; r < count / boxes.size() + fewest; r++) {
        Index place;
        for (size_t a = 0; a < axes; a++) {
          const i64 places = box.place.size[a] - (a == 3 ? run : 0);
          place[a] = box.place.low[a] + i64(pseudo_random(seed) % u64(std::max<i64>(1, places)));
        }
        ahead.add(box.item, place);
      }
      ahead.finish();
      sum.bits += of_box.bits;
      sum.samples += of_box.samples;
      of_boxes += of_box.mean();
      squares += of_box.mean() * of_box.mean();
    }
    const double n = double(boxes.size()), of_one = std::max(0.0, squares - of_boxes * of_boxes / n) / std::max(1.0, n - 1);
    variance = of_boxes > 0 ? of_one * n / (of_boxes * of_boxes) : 0;
    return sum;
  }

 private:
  // A run has up to 16 neighbouring samples along the last axis. A sample's neighbours are up to 3 samples away along the split axes.
  static constexpr i64 run = 16, reach = 3;

  // Neighbouring samples of an item; `first` is an index into level 0.
  struct Run {
    u64 item;
    i64 first;
  };

  // Runs are far apart and memory is slow, so the samples of later runs are prefetched while earlier ones are processed.
  class Ahead {
   public:
    Ahead(const Roughness& roughness, RoughnessSum& sum) : roughness_(roughness), sum_(sum) {}
    void add(u64 item, const Index& at) {
      if (!roughness_.ways_) return;
      Run& next = run_[added_ % distance];
      if (added_++ >= distance) roughness_.add(next, sum_);
      next = {item, roughness_.first_of(at)};
      roughness_.prefetch(next);
    }
    void finish() {
      for (size_t r = added_ > distance ? added_ - distance : 0; r < added_; r++) roughness_.add(run_[r % distance], sum_);
    }

   private:
    static constexpr size_t distance = 8;
    const Roughness& roughness_;
    RoughnessSum& sum_;
    Run run_[distance];
    size_t added_ = 0;
  };

  i64 length() const { return std::min(run, level_.n[3] > 2 * reach ? level_.n[3] - 2 * reach : level_.n[3]); }

  // The first index of a run at `at`. The run is moved if its samples would lack neighbours.
  i64 first_of(const Index& at) const {
    i64 first = 0;
    for (size_t a = 0; a < axes; a++) {
      const i64 margin = level_.n[a] > 2 * reach ? reach : 0;
      first += std::clamp<i64>(at[a], margin, level_.n[a] - margin - (a == 3 ? length() : 1)) * stride_[a];
    }
    return first;
  }

  void prefetch(const Run& r) const {
    constexpr i64 line = 64 / sizeof(S);
    const S* const first = source_.samples(0, r.item).data + r.first;
    const i64 span = (length() - 1) * stride_[3] + 1;
    for (i64 x = 0; x < span + line - 1; x += line) {
      const S* const s = first + std::min(x, span - 1);
      __builtin_prefetch(s);
      for (int k = 0; k < ways_; k++) {
        if (along_[k] == 3) continue;
        const i64 near = stride_[along_[k]], far = reach * near;
        for (const i64 d : {-far, -near, near, far}) __builtin_prefetch(s + d);
      }
    }
  }

  void add(const Run& r, RoughnessSum& sum) const {
    const S* const samples = source_.samples(0, r.item).data + r.first;
    const u8* specials = source_.has_specials() ? source_.specials(0, r.item).data + r.first : nullptr;
    const i64 n = length();
    double neighbours[run] = {};
    for (int k = 0; k < ways_; k++) {
      const i64 near = stride_[along_[k]];
      if (stride_[3] == 1)
        add_neighbours(samples, near, 1, n, neighbours);
      else
        add_neighbours(samples, near, stride_[3], n, neighbours);
    }
    double distances = 0;
    u64 valid = 0;
    for (i64 x = 0; x < n; x++) {
      const i64 i = x * stride_[3];
      if (specials && any_special(specials + i)) continue;
      const double distance = __builtin_fabs(double(samples[i]) - neighbours[x] / (16 * ways_)) / step_;
      distances += distance < 1e15 ? distance : 1e15;
      valid++;
    }
    if (!valid) return;
    sum.bits += double(valid) * bits_of(distances / double(valid));
    sum.samples += valid;
  }

  // Adds to `sum` 16 times the prediction of n samples by the cubic through their neighbours along one axis.
  [[gnu::always_inline]] static void add_neighbours(const S* s, i64 near, i64 step, i64 n, double* sum) {
    const i64 far = reach * near;
    for (i64 x = 0; x < n; x++, s += step) sum[x] += 9 * (double(s[-near]) + double(s[near])) - (double(s[-far]) + double(s[far]));
  }

  bool any_special(const u8* kind) const {
    bool any = *kind;
    for (int k = 0; k < ways_; k++) {
      const i64 near = stride_[along_[k]], far = reach * near;
      any |= kind[-near] || kind[near] || kind[-far] || kind[far];
    }
    return any;
  }

  // 2^x for x <= 0, with a relative error of at most 0.3 %.
  static double rough_exp2(double x) {
    if (x < -1000) return 0;
    const int whole = int(x) - 1;
    const double f = x - whole;
    return (1 + f * (0.6565 + f * 0.3435)) * bit_cast_to<double>(u64(whole + 1023) << 52);
  }

  // Bits of a code if the distances from the prediction have a Laplace distribution with this mean (in steps): the entropy of the geometric
  // distribution with the same mean |code|, and the sign. The noise stands for the error of predictions from decoded samples, which are
  // never exact.
  static double bits_of(double mean) {
    constexpr double noise = 0.08, log2_e = 1.4427, least = 0.003;
    const double b = mean + noise * noise / (mean + noise);
    const double size = rough_exp2(-0.5 * log2_e / b) / (1 - rough_exp2(-log2_e / b));
    const double logarithm = size > 1e-300 ? size * rough_log2(size) : 0;
    return (1 + size) * rough_log2(1 + size) - logarithm + size / (1 + size) + least;
  }

  const LevelSource<S>& source_;
  const Level& level_;
  const double step_;
  const Index unit_;
  Index stride_;
  size_t along_[axes];
  int ways_ = 0;
};

}  // namespace stz
