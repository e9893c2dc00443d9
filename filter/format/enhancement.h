// Enhancement: a filter over the decoded samples of level 0, which brings them nearer to the originals on average. Its weights are in the
// header (record 9). No sample is predicted from its output, and the samples of level 1 and coarser levels stay as they are. All of it but
// the last subtraction is done in integers. Byte by byte: docs/format.md, "Enhancement".
#pragma once
#include "base/buffer.h"
#include "base/bytes.h"
#include "grid/grid.h"

namespace stz {

struct Header;

constexpr int enhanced_axes = 3;         // that neighbours lie along, at most
constexpr int enhancement_clips = 3;     // of each second difference, at 1/2, 2 and 8 half steps
constexpr i64 enhancement_reach = 2;     // of neighbours, in samples along an axis
constexpr int units_per_half_step = 64;  // of level 0: of samples
constexpr int result_units = 512;        // per half step, of corrections
constexpr int relaxation_units = 64;     // of the limit per half step, of the promise per bound
constexpr int least_weight_shift = 6, most_weight_shift = 13;

struct Enhancement {
  u8 limit = 0;         // of corrections, in relaxation_units; 0: there is no enhancement
  u8 promise = 0;       // how far errors may be beyond the bound, in relaxation_units, as measured by the encoder
  bool shared = false;  // directions of a group have the same weights
  u8 shift = 0;         // weights are integers times 2^-shift
  std::vector<i8> weights;
  bool any() const { return limit != 0; }
};

// The largest error that a stream allows: its bound, or more if there is an enhancement.
double relaxed_bound(const Header& h);

// What a filter for a hierarchy looks like: along which axes, in which directions, for how many kinds of samples.
struct EnhancementShape {
  std::vector<int> axis;         // of the codec, at most three: the last ones that are split at level 0, then the last others
  std::vector<Index> direction;  // from a sample to one of two neighbours
  std::vector<int> group;        // of each direction: directions of one may share their weights
  int split = 0, sets = 0;       // a mask of axes; sets of weights: by the number of odd indices along these, which is 1 at least
  explicit EnhancementShape(const Level& level);
  size_t groups(bool shared) const { return shared ? axis.size() + 1 : direction.size(); }
  size_t weights(bool shared) const { return size_t(sets) * groups(shared) * enhancement_clips; }
  // Where the weights of a direction begin in a set.
  size_t at(size_t d, bool shared) const { return (shared ? size_t(group[d]) : d) * enhancement_clips; }
};

// Whether a stream with this header may be enhanced.
bool can_be_enhanced(const Header& h);

// The payload of the record tag_enhancement.
Bytes write_enhancement(const Enhancement& e);
void read_enhancement(ByteReader& payload, Enhancement& e);
// What can be judged only with the rest of the header. Fails if enhancement and hierarchy do not fit together.
void require_enhancement(const Header& h, const Hierarchy& hierarchy);

template <class S>
class Enhancer {
 public:
  Enhancer(const Header& h, const Hierarchy& hierarchy);
  // `plain` has a box of level 0 of one item and `kinds`, unless null, its special values. Enhances the samples of `out`, which are those
  // of `plain` in a box inside of it, perhaps the same memory. All that the neighbours of these samples are has to be in `plain`, as far as
  // the level has any. Special values stay as they are or become anything.
  void run(const GridPart<const S>& plain, const u8* kinds, const GridPart<S>& out, int threads);
  // Samples that a box depends on.
  Box with_neighbours(const Box& box) const;
  const EnhancementShape& shape() const { return shape_; }
  // For who fits weights: takes the samples of a box, then gives what the weights of one of them are for. Of each direction the second
  // difference at three clips, in 1/2048 half steps.
  void load(const GridPart<const S>& plain, const u8* kinds, const Box& box, int threads);
  void features(const Index& in_box, i16* f) const;

 private:
  const Level level_;
  const EnhancementShape shape_;
  const double inverse_;
  const S unit_;
  const i16 limit_;
  std::vector<u32> weights_[axes + 1];  // of rows by the number of odd indices before the last axis: those of even x, those of odd x << 16
  Buffer<i16> units_, valid_;
  Index margin_{}, extent_{};  // of units_
  i64 pitch_[axes] = {};
};

}  // namespace stz
