// Edge mode: codes the classes of a block sample by sample. For layers, labels, masks and other data with regions and edges.
//
// Most samples of such data equal a value that their neighbours suggest. There are several candidates for each sample; a decision for each
// in turn says which one is within the bound. Decisions have adaptive models; their contexts are what the neighbours in the same class
// took, and how different the coarser samples are. If no candidate fits, a code (quantization index) follows. Encoder and decoder share one
// walk; `Coder` codes decisions and codes.
#pragma once
#include <algorithm>
#include <memory>

#include "coding/binary_coder.h"
#include "predict/block_codec.h"

namespace stz {

// The probability that the next bit is 1, in 2^-22. Learns for longer and becomes more certain than a BitModel.
struct EdgeBit {
  u32 p : 24 = 1u << 21;
  u32 seen : 8 = 0;
  static constexpr u32 slowest = 60;
  static constexpr std::array<i32, slowest + 1> rates = [] {
    std::array<i32, slowest + 1> r{};
    for (u32 n = 0; n <= slowest; n++) r[n] = i32(131072 / (2 * n + 3));
    return r;
  }();
  void learn(int bit) {
    const i64 target = bit ? (1 << 22) - 1 : 0;
    p = u32(i64(p) + ((target - i64(p)) * rates[seen] >> 16)) & 0xffffff;
    if (seen < slowest) seen++;
  }
  // Before its first bit, a model can start with what a more general one has learned.
  void begin_as(const EdgeBit& general) {
    if (seen) return;
    p = general.p;
    seen = general.seen < 2 ? general.seen : 2;
  }
  u32 one() const {
    const u32 of_16_bits = p >> 6;
    return of_16_bits < 16 ? 16 : of_16_bits > 65520 ? 65520 : of_16_bits;
  }
};

// Candidates of a sample by number, where o is the number of odd axes of its class:
//   0                    the linear prediction (mean of the cubics)
//   1 + 2 k + side       the neighbour below or above it along the k-th odd axis
//   1 + 2 o + k          the mean of these two
//   1 + 3 o, + 1, + 2    the class's sample in the row before, the one before in the row, the one in the second row before
//   1 + 3 o + 3, + 4     the linear prediction plus its error at the first and at the second of these
//   6 + 3 o + 2 k + side extrapolated from below or above along the k-th odd axis
// The second row before is along another axis, for example in the plane before.
constexpr int most_candidates = 6 + 5 * axes;

constexpr int edge_surroundings = 12;         // 4 * (spread of the nearest coarser samples) + how many of them are not linearly predicted
constexpr u8 edge_activity[3] = {0, 16, 64};  // of samples that are candidate 0, another candidate, none

// The models of a block.
struct EdgeModels {
  EdgeBit first[2][edge_surroundings][3][3][2][most_candidates];  // decisions on the first two candidates of a sample
  EdgeBit later[4][edge_surroundings][2][most_candidates];        // decisions on later ones
  EdgeBit general[6][3][most_candidates];
  BitModel outlier, sign, exponent[20][64], mantissa[64];
  int size_before[2] = {0, 0};  // exponents of the last two codes
  // above 0: for samples that are no candidate, the first candidate was closer than the linear prediction
  int trust[edge_surroundings] = {};

  BitModel* exponents() { return exponent[std::min(19, (size_before[0] + size_before[1] + 1) / 2)]; }
  void remember(int size) {
    size_before[1] = size_before[0];
    size_before[0] = size;
  }
};

// Codes samples that are no candidate: |c| + 1 = 2^e + mantissa. e takes six adaptive bits, followed by the sign and the mantissa, whose
// top bit is adaptive.
template <class Coder>
i64 code_edge_number(Coder& coder, EdgeModels& m, i64 c) {
  const u64 v = (c < 0 ? u64(0) - u64(c) : u64(c)) + 1;  // encoder
  BitModel* const model = m.exponents();
  int node = 1;
  for (int b = 5, e = floor_log2(v); b >= 0; b--) node = 2 * node + coder.bit(model[node], e >> b & 1);
  const int e = node - 64;
  m.remember(e);
  if (e == 0) return 0;
  require(e < 63, STZ_ERROR_CORRUPT);
  const int negative = coder.bit(m.sign, c < 0), top = coder.bit(m.mantissa[e], int(v >> (e - 1) & 1));
  const i64 size = i64((u64(2 + top) << (e - 1) | coder.plain(v & ((u64(1) << (e - 1)) - 1), e - 1)) - 1);
  return negative ? -size : size;
}

// Distances between samples in terms of the level's quantizer.
template <class S>
class EdgeDistances {
 public:
  explicit EdgeDistances(const Quantizer<S>& q) : kind_(q.kind), step_(q.fast.step) {}
  // From the lowest to the highest: 0 about equal, 1 near, 2 far.
  int between(S low, S high) const {
    if constexpr (!std::is_floating_point_v<S>)
      return of_integers(u64(high) - u64(low));
    else if (kind_ == QuantizerKind::ulp) {
      using U = std::conditional_t<sizeof(S) == 4, u32, u64>;
      return of_integers(U(U(ulp_index(high)) - U(ulp_index(low))));
    } else {
      const bool uniform = kind_ == QuantizerKind::uniform;
      const S distance = high - low;
      return distance <= (uniform ? step_ : S(0)) ? 0 : distance <= (uniform ? S(8) * step_ : S(16)) ? 1 : 2;
    }
  }
  // Whether two candidates are equally good.
  bool alike(S a, S b) const {
    if constexpr (std::is_floating_point_v<S>)
      if (kind_ == QuantizerKind::uniform) return __builtin_fabs(a - b) <= S(0.25) * step_;
    return sample_bits(a) == sample_bits(b);
  }

 private:
  static int of_integers(u64 distance) { return distance == 0 ? 0 : distance <= 16 ? 1 : 2; }
  const QuantizerKind kind_;
  const RealOf<S> step_;
};

// Buffers that are reused from block to block.
template <class S>
struct EdgeWork {
  Buffer<RealOf<S>> prediction;  // of a class, raster order
  Buffer<u8> taken;              // of a class: 1 + the candidate that the sample is, or the nearest one
  Buffer<u8> surroundings;       // of a row
  std::unique_ptr<EdgeModels> models;
};

// Codes a class of a block, sample by sample.
template <class S, class Coder>
class EdgeClassWalk {
  using Real = RealOf<S>;

 public:
  EdgeClassWalk(BlockWork<S>& work, EdgeWork<S>& room, const Quantizer<S>& q, int cls, Coder& coder)
      : work_(work), room_(room), m_(*room.models), q_(q), distances_(q), cls_(cls), coder_(coder), n_(work.geometry.counts(cls)) {
    const ClassPlan<S>& plan = work.plan(cls, ClassParameters{});
    odd_ = plan.cubic.odd;
    for (int k = 0; k < odd_; k++)
      for (int side = 0; side < 2; side++) {
        near_[k][side] = plan.cubic.offset[size_t(2 * k + side)];
        far_[k][side] = plan.cubic.offset[size_t(2 * (odd_ + k) + side)];
        near_activity_[k][side] = plan.context.offset[size_t(2 * k + side)];
      }
    candidates_ = 6 + 5 * odd_;
    for (int number = 0; number < candidates_; number++) order_[number] = u8(number);
  }

  void run() {
    const BlockGeometry& g = work_.geometry;
    const size_t samples = size_t(g.samples(cls_));
    if (!samples) return;
    room_.prediction.resize(samples + row_slack);
    room_.taken.resize(samples);
    room_.surroundings.resize(size_t(n_[3]));
    const u8* masked = work_.mask_or_null(cls_);
    size_t index = 0;
    for_rows(Index{}, {n_[0], n_[1], n_[2], 1}, [&](i64 i, i64 j, i64 k) {
      begin_row({i, j, k, 0}, index);
      for (i64 x = 0; x < n_[3]; x++)
        if (masked && masked[index + size_t(x)])
          place(x, linear(x), 1, mean_activity);
        else
          code(x);
      index += size_t(n_[3]);
    });
  }

 private:
  void begin_row(const Index& at, size_t index) {
    const BlockGeometry& g = work_.geometry;
    row_ = work_.first(cls_) + g.values.at(at[0], at[1], at[2]);
    activity_ = work_.first_activity(cls_) + g.bytes.at(at[0], at[1], at[2]);
    prediction_ = room_.prediction.data() + index;
    taken_ = room_.taken.data() + index;
    rows_before_ = 0;
    i64 raster = n_[3];
    for (size_t a = 3; a-- > 0;) {
      if (at[a] && rows_before_ < 2) {
        before_[rows_before_] = -g.values.stride[a];
        before_raster_[rows_before_++] = -raster;
      }
      raster *= n_[a];
    }
    work_.plan(cls_, ClassParameters{}).predict(row_, int(n_[3]), prediction_);
    look_around();
  }

  void look_around() {
    for (i64 x = 0; x < n_[3]; x++) {
      S low = row_[x + near_[0][0]], high = low;
      int other = 0;
      for (int k = 0; k < odd_; k++)
        for (int side = 0; side < 2; side++) {
          const S v = row_[x + near_[k][side]];
          if (v < low) low = v;
          if (v > high) high = v;
          other += activity_[x + near_activity_[k][side]] >= edge_activity[1];
        }
      room_.surroundings[size_t(x)] = u8(4 * distances_.between(low, high) + std::min(3, other));
    }
  }

  // The sample that a prediction is rounded to.
  S sample_of(Real p) const {
    if constexpr (std::is_floating_point_v<S>)
      if (q_.kind == QuantizerKind::uniform) return q_.rounds ? S(round_to_short(q_.format, float(p))) : p;
    return sample_of_code<S>(q_, p, 0);
  }
  S linear(i64 x) const { return sample_of(prediction_[x]); }
  S changed(i64 x, S before, Real prediction_before) const { return sample_of(prediction_[x] + (Real(before) - prediction_before)); }

  // The value of a candidate. Returns false if the sample does not have this candidate.
  bool candidate(int number, i64 x, S& v) const {
    const S* const sample = row_ + x;
    if (number == 0) {
      v = linear(x);
      return true;
    }
    number--;
    if (number < 2 * odd_) {
      v = sample[near_[number >> 1][number & 1]];
      // Extrapolated samples and stand-ins of masked samples may not be valid samples.
      if constexpr (std::is_floating_point_v<S>)
        if (q_.rounds || q_.kind == QuantizerKind::integer) v = sample_of(v);
      return true;
    }
    number -= 2 * odd_;
    if (number < odd_) {
      v = sample_of(Real(0.5) * (Real(sample[near_[number][0]]) + Real(sample[near_[number][1]])));
      return true;
    }
    number -= odd_;
    if (number >= 5) {
      const int axis = (number - 5) >> 1, side = (number - 5) & 1;
      const Real near = Real(sample[near_[axis][side]]), far = Real(sample[far_[axis][side]]);
      v = sample_of(near + (near - far) * Real(0.5));
      return true;
    }
    if (number == 1 || number == 4) {
      if (x == 0) return false;
      v = number == 1 ? sample[-1] : changed(x, sample[-1], prediction_[x - 1]);
      return true;
    }
    const int row = number == 2;
    if (rows_before_ <= row) return false;
    v = sample[before_[row]];
    if (number == 3) v = changed(x, v, prediction_[x + before_raster_[0]]);
    return true;
  }

  void place(i64 x, S value, int taken, u8 activity) {
    row_[x] = value;
    taken_[x] = u8(taken);
    activity_[x] = activity;
  }

  // Tries a candidate, unless it or an equal one was tried. Returns whether the sample is this candidate.
  bool attempt(int number, i64 x) {
    if (number < 0 || seen_ >> number & 1) return false;
    seen_ |= 1u << number;
    S v;
    if (!candidate(number, x, v)) return false;
    bool known = false;
    for (int t = 0; t < tried_; t++) known |= distances_.alike(value_[t], v);
    if (known) return false;
    const bool as_other = taken_by_[2] == number + 1;
    auto relation = [&](int neighbour) { return !taken_by_[neighbour] ? 0 : taken_by_[neighbour] == number + 1 ? 1 : 2; };
    EdgeBit& model = tried_ < 2 ? m_.first[tried_][surroundings_][relation(0)][relation(1)][as_other][number]
                                : m_.later[std::min(tried_ - 2, 3)][surroundings_][as_other][number];
    EdgeBit& general = m_.general[std::min(tried_, 5)][surroundings_ >> 2][number];
    model.begin_as(general);
    number_[tried_] = u8(number);
    value_[tried_++] = v;
    const bool taken = coder_.decide(model, original_, v);
    general.learn(taken);
    if (taken) place(x, v, number + 1, edge_activity[number != 0]);
    return taken;
  }

  void code(i64 x) {
    original_ = row_[x];
    surroundings_ = room_.surroundings[size_t(x)];
    taken_by_[0] = rows_before_ ? taken_[x + before_raster_[0]] : 0;
    taken_by_[1] = x ? taken_[x - 1] : 0;
    taken_by_[2] = rows_before_ > 1                     ? taken_[x + before_raster_[1]]
                   : rows_before_ == 1 && x + 1 < n_[3] ? taken_[x + 1 + before_raster_[0]]
                                                        : 0;
    seen_ = 0;
    tried_ = 0;
    if (attempt(taken_by_[0] - 1, x) || attempt(taken_by_[1] - 1, x)) return;
    for (int place = 0; place < candidates_; place++)
      if (attempt(order_[place], x)) return move_forward(place);
    code_number(x);
  }

  // Moves a candidate forward, so that those taken often are tried first.
  void move_forward(int place) {
    const u8 number = order_[place];
    const u32 times = ++times_[number];
    for (; place > 0 && times_[order_[place - 1]] < times; place--) order_[place] = order_[place - 1];
    order_[place] = number;
  }

  // Codes a sample that is no candidate.
  void code_number(i64 x) {
    int& trust = m_.trust[surroundings_];
    const S v = coder_.code(m_, original_, trust > 0 ? Real(value_[0]) : prediction_[x]);
    auto distance = [&](Real p) { return Real(__builtin_fabs(p - Real(v))); };
    const Real from_linear = distance(prediction_[x]);
    Real least = distance(Real(value_[0]));
    if (least < from_linear && trust < 15) trust++;
    if (from_linear < least && trust > -15) trust--;
    int nearest = 0;
    for (int t = 1; t < tried_; t++)
      if (distance(Real(value_[t])) < least) {
        least = distance(Real(value_[t]));
        nearest = t;
      }
    place(x, v, number_[nearest] + 1, edge_activity[2]);
  }

  BlockWork<S>& work_;
  EdgeWork<S>& room_;
  EdgeModels& m_;
  const Quantizer<S>& q_;
  const EdgeDistances<S> distances_;
  const int cls_;
  Coder& coder_;
  const Index n_;
  int odd_, candidates_;
  std::ptrdiff_t near_[axes][2], far_[axes][2], near_activity_[axes][2];  // neighbours along each odd axis
  u8 order_[most_candidates];
  u32 times_[most_candidates] = {};
  // Of the current row:
  S* row_;
  u8 *activity_, *taken_;
  Real* prediction_;
  int rows_before_;
  std::ptrdiff_t before_[2], before_raster_[2];  // offsets of samples in the rows before
  // Of the current sample:
  S original_;  // encoder
  int surroundings_, taken_by_[3];
  u32 seen_;
  int tried_;
  S value_[most_candidates];
  u8 number_[most_candidates];
};

// Walks over all classes of a block. Class 0, its activities and masks must be there. Encoder: the samples must be there too, and become
// the decoded ones.
template <class S, class Coder>
void walk_edge_block(BlockWork<S>& work, EdgeWork<S>& room, const Quantizer<S>& q, Coder& coder) {
  const BlockGeometry& g = work.geometry;
  if (!room.models) room.models = std::make_unique<EdgeModels>();
  *room.models = fresh<EdgeModels>;
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    EdgeClassWalk<S, Coder>(work, room, q, cls, coder).run();
    complete_class(work, cls, ClassParameters{});
    fill_halo_of_bytes(g, cls, work.activities.data());
  }
}

}  // namespace stz
