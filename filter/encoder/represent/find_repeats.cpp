#include "encoder/represent/find_repeats.h"

#include "base/pseudo_random.h"
#include "base/rough_log2.h"
#include "encoder/represent/repeat_maps.h"

namespace stz {
namespace {

constexpr u64 samples_of_box = 128;
constexpr i64 most_shifted_slabs = 8;  // side by side along an axis, that are tried for each shift
constexpr double bits_of_box = 4096;   // its header and parameters cost less
constexpr double share_of_box = 1e-3;  // of all bits, that a box must save
constexpr double share_of_all = 0.05;  // of all bits, that all boxes together must save
constexpr double least_share = 0.25;   // of its bits, that a box must save: the estimate is rough

struct SignedBox {
  i64 low[most_repeat_axes], high[most_repeat_axes];

  bool empty(int rank) const {
    for (int a = 0; a < rank; a++)
      if (low[a] >= high[a]) return true;
    return false;
  }
  bool meets(const SignedBox& other, int rank) const {
    for (int a = 0; a < rank; a++)
      if (high[a] <= other.low[a] || other.high[a] <= low[a]) return false;
    return true;
  }
  double elements(int rank) const {
    double n = 1;
    for (int a = 0; a < rank; a++) n *= double(std::max<i64>(high[a] - low[a], 0));
    return n;
  }
};

struct Candidate {
  RepeatMap map;
  SignedBox box{};
  bool negated = false;
  double saves = 0;  // bits
};

SignedBox image_of(const SignedBox& box, const RepeatMap& map, int rank) {
  SignedBox image{};
  for (int a = 0; a < rank; a++) {
    const i64 one = map.source_of(a, box.low[a]), two = map.source_of(a, box.high[a] - 1);
    image.low[a] = std::min(one, two);
    image.high[a] = std::max(one, two) + 1;
  }
  return image;
}

// The largest box inside of a box that does not meet another one.
SignedBox part_outside(const SignedBox& box, const SignedBox& other, int rank) {
  SignedBox best{};
  for (int a = 0; a < rank; a++)
    for (bool below : {true, false}) {
      SignedBox part = box;
      if (below)
        part.high[a] = std::min(part.high[a], other.low[a]);
      else
        part.low[a] = std::max(part.low[a], other.high[a]);
      if (!part.empty(rank) && part.elements(rank) > best.elements(rank)) best = part;
    }
  return best;
}

class RepeatFinder {
 public:
  RepeatFinder(const Array& a, double bits) : a_(a), rank_(a.layout.rank), bits_(bits) {}

  std::vector<FoundRepeat> run() {
    const std::vector<RepeatMap> maps = likely_repeat_maps(a_);
    double saved = 0;
    const double all = bits_ * double(a_.elements), least = std::max(bits_of_box, share_of_box * all);
    while (!maps.empty() && found_.size() < most_repeats) {
      const Candidate best = best_of(maps, least);
      if (best.saves < least) break;
      saved += best.saves;
      boxes_.push_back(best.box);
      found_.insert(found_.begin(), repeat_of(best));  // decoded before those found earlier: it may hold their sources
    }
    return saved < share_of_all * all ? std::vector<FoundRepeat>() : std::move(found_);
  }

 private:
  // The elements whose sources are inside the array.
  SignedBox domain_of(const RepeatMap& map) const {
    SignedBox box{};
    for (int a = 0; a < rank_; a++) {
      const i64 n = i64(a_.layout.shape[a]), t = map.offset[a];
      box.low[a] = std::max<i64>(0, map.mirrors(a) ? t - n + 1 : -t);
      box.high[a] = std::min(n, map.mirrors(a) ? t + 1 : n - t);
    }
    return box;
  }

  u64 bits_at(const i64* index) const {
    u64 element = 0;
    for (int a = 0; a < rank_; a++) element = element * a_.layout.shape[a] + u64(index[a]);
    return a_.bits(element, 0);
  }

  template <class U>
  double size_of_difference(U bits, U other, bool negated) const {
    constexpr U sign = U(1) << (8 * sizeof(U) - 1);
    const U difference = place_in_order(bits) - place_in_order(U(negated ? other ^ sign : other));
    const U size = difference & sign ? U(0) - difference : difference;
    return size ? std::min(bits_ + 1, 2.5 + rough_log2(double(size))) : 0;
  }

  // Estimates from some elements of a box what it saves, and whether it should be negated.
  Candidate candidate_of(const RepeatMap& map, const SignedBox& box) const {
    double plain = 0, negated = 0;
    u64 seed = 1;
    for (u64 k = 0; k < samples_of_box; k++) {
      i64 at[most_repeat_axes], from[most_repeat_axes];
      for (int a = 0; a < rank_; a++) {
        at[a] = box.low[a] + i64(pseudo_random(seed) % u64(box.high[a] - box.low[a]));
        from[a] = map.source_of(a, at[a]);
      }
      const u64 bits = bits_at(at), other = bits_at(from);
      plain += a_.width == 4 ? size_of_difference(u32(bits), u32(other), false) : size_of_difference(bits, other, false);
      negated += a_.width == 4 ? size_of_difference(u32(bits), u32(other), true) : size_of_difference(bits, other, true);
    }
    const double saves = bits_ - std::min(plain, negated) / double(samples_of_box);
    return {map, box, negated < plain, saves < least_share * bits_ ? 0 : saves * box.elements(rank_)};
  }

  // A part of a box that does not meet the boxes found so far, and whose source does not meet them. It may be empty.
  SignedBox free_part(SignedBox box, const RepeatMap& map) const {
    const RepeatMap back = map.inverse();
    for (bool changed = true; changed;) {
      changed = false;
      for (const SignedBox& other : boxes_) {
        if (box.empty(rank_)) return box;
        if (box.meets(other, rank_)) box = part_outside(box, other, rank_), changed = true;
        if (box.empty(rank_)) return box;
        const SignedBox source = image_of(box, map, rank_);
        if (!source.meets(other, rank_)) continue;
        const SignedBox left = part_outside(source, other, rank_);
        if (left.empty(rank_)) return left;
        box = image_of(left, back, rank_);
        changed = true;
      }
    }
    return box;
  }

  // Calls use(box) with parts of a map's domain that do not meet their sources.
  template <class F>
  void for_parts(const RepeatMap& map, F use) const {
    const SignedBox whole = domain_of(map);
    for (int a = 0; a < rank_; a++) {
      const i64 t = map.offset[a];
      const auto part = [&](i64 low, i64 high) {
        SignedBox box = whole;
        box.low[a] = std::max(low, whole.low[a]);
        box.high[a] = std::min(high, whole.high[a]);
        if (box.low[a] < box.high[a]) use(box);
      };
      if (map.mirrors(a)) {
        part(whole.low[a], (t + 1) / 2);
        part(t / 2 + 1, whole.high[a]);
      } else if (t != 0) {
        const i64 width = t < 0 ? -t : t;
        for (i64 k = 0, low = whole.low[a]; k < most_shifted_slabs && low < whole.high[a]; k++, low += width) part(low, low + width);
        part(whole.high[a] - width, whole.high[a]);
        for (const SignedBox& found : boxes_) {
          part(found.low[a] - width, found.low[a]);
          part(found.high[a], found.high[a] + width);
        }
      }
    }
  }

  // The box that saves most. It saves fewer than `least` bits if no box saves as many.
  Candidate best_of(const std::vector<RepeatMap>& maps, double least) const {
    Candidate best;
    best.saves = least / 2;
    const auto try_parts = [&](const RepeatMap& map) {
      for_parts(map, [&](const SignedBox& part) {
        const SignedBox box = free_part(part, map);
        if (box.empty(rank_) || bits_ * box.elements(rank_) <= best.saves) return;
        const Candidate candidate = candidate_of(map, box);
        if (candidate.saves > best.saves) best = candidate;
      });
    };
    for (const RepeatMap& map : maps) {
      try_parts(map);
      try_parts(map.inverse());
    }
    return best;
  }

  FoundRepeat repeat_of(const Candidate& candidate) const {
    FoundRepeat found;
    const SignedBox source = image_of(candidate.box, candidate.map, rank_);
    for (int a = 0; a < rank_; a++) {
      found.box.origin[a] = u64(candidate.box.low[a]);
      found.box.extent[a] = u64(candidate.box.high[a] - candidate.box.low[a]);
      found.repeat.source[a] = u64(source.low[a]);
    }
    found.repeat.mirrored = candidate.map.mirrored;
    found.repeat.negated = candidate.negated;
    return found;
  }

  const Array& a_;
  const int rank_;
  const double bits_;
  std::vector<SignedBox> boxes_;
  std::vector<FoundRepeat> found_;
};

}  // namespace

std::vector<FoundRepeat> find_repeats(const Array& a, double bits) {
  constexpr u64 fewest_elements = 1 << 12;
  const bool suits = is_floating(a.layout.dtype) && a.parts == 1 && a.width >= 4 && a.layout.rank >= 1 &&
                     a.layout.rank <= most_repeat_axes && a.elements >= fewest_elements;
  if (!suits) return {};
  return RepeatFinder(a, bits).run();
}

}  // namespace stz
