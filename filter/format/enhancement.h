// Enhancement: a filter over the decoded samples of level 0 that brings them closer to the originals on average. The header stores its
// weights (record 9). Its output is never used for prediction, and samples of level 1 and coarser levels are not changed. Everything except
// the last subtraction is integer arithmetic. Byte by byte: docs/format.md, "Enhancement".
#pragma once
#include "base/buffer.h"
#include "base/bytes.h"
#include "grid/grid.h"
#include "simd/kernels.h"

namespace stz {

struct Header;

constexpr int enhanced_axes = 3;         // most axes along which the filter has neighbours
constexpr int enhancement_clips = 3;     // values per second difference: clipped at 1/2, 2 and 8 half steps
constexpr i64 enhancement_reach = 2;     // distance of the farthest neighbour along an axis, in samples
constexpr int units_per_half_step = 64;  // units of samples per half step of level 0
constexpr int result_units = 512;        // units of corrections per half step
constexpr int relaxation_units = 64;     // units of `limit` per half step, and of `promise` per bound
constexpr int least_weight_shift = 6, most_weight_shift = 13;

struct Enhancement {
  u8 limit = 0;  // largest correction, in relaxation_units; 0: no enhancement
  // measured excess of the largest error over the bound, in relaxation_units
  u8 promise = 0;
  bool shared = false;  // directions of a group have the same weights
  u8 shift = 0;         // weights are integers times 2^-shift
  std::vector<i8> weights;
  bool any() const { return limit != 0; }
};

// The largest error of a stream's samples: its bound, or more if there is an enhancement.
double relaxed_bound(const Header& h);

// The shape of the filter for a hierarchy: its axes, its directions and its number of weights.
struct EnhancementShape {
  // axes of the codec, at most three: the last ones that are split at level 0, then the last others
  std::vector<int> axis;
  std::vector<Index> direction;  // from a sample to one of its two neighbours
  std::vector<int> group;        // of each direction: directions of one group may share their weights
  // mask of the split axes; number of sets of weights: a sample's set is its number of odd indices along split axes, at least 1
  int split = 0, sets = 0;
  explicit EnhancementShape(const Level& level);
  size_t groups(bool shared) const { return shared ? axis.size() + 1 : direction.size(); }
  size_t weights(bool shared) const { return size_t(sets) * groups(shared) * enhancement_clips; }
  // Offset of the weights of a direction in a set.
  size_t at(size_t d, bool shared) const { return (shared ? size_t(group[d]) : d) * enhancement_clips; }
};

// Whether a stream with this header can have an enhancement.
bool can_be_enhanced(const Header& h);

// The payload of the record tag_enhancement.
Bytes write_enhancement(const Enhancement& e);
void read_enhancement(ByteReader& payload, Enhancement& e);
// Checks that need the rest of the header. Fails if enhancement and hierarchy do not fit together.
void require_enhancement(const Header& h, const Hierarchy& hierarchy);

template <class S>
class Enhancer {
 public:
  Enhancer(const Header& h, const Hierarchy& hierarchy);
  // Enhances the samples of `out`, a box inside `plain`. `plain`: a box of level 0 of one item, with all neighbours of these samples that
  // the level has. `kinds`: its special values, or null. `out` has the same samples at first, and may be the same memory. Masked samples of
  // `out` become unspecified. The others are in the range of the header.
  void run(const GridPart<const S>& plain, const u8* kinds, const GridPart<S>& out, int threads);
  // The samples that the enhancement of a box depends on.
  Box with_neighbours(const Box& box) const;
  const EnhancementShape& shape() const { return shape_; }
  // For fitting weights: load() takes the samples of a box; features() then gives the filter's inputs for one of them: for each direction
  // the second difference at three clips, in 1/2048 half steps.
  void load(const GridPart<const S>& plain, const u8* kinds, const Box& box, int threads);
  void features(const Index& in_box, i16* f) const;

 private:
  const Level level_;
  const EnhancementShape shape_;
  const double inverse_;
  const S unit_;
  const i16 limit_;
  const bool has_range_;
  const Limits<S> range_;
  // by the number of odd indices before the last axis: weights for even x in the low half, for odd x in the high half
  std::vector<u32> weights_[axes + 1];
  Buffer<i16> units_, valid_;
  Index margin_{}, extent_{};  // of units_
  i64 pitch_[axes] = {};
};

}  // namespace stz
