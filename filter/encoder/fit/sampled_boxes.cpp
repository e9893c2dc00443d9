#include "encoder/fit/sampled_boxes.h"

#include <algorithm>

namespace stz {
namespace {

// An additive low-discrepancy sequence in `axes` + 1 dimensions, for any number of points. Steps: the powers of 1 / g with g^6 = g + 1.
class EvenPlaces {
 public:
  void next() {
    for (size_t d = 0; d <= axes; d++) at_[d] += step_[d];
  }
  u64 along(size_t dimension, u64 places) const {
    const u64 at = at_[dimension];
    return at * (places >> 32) + (at * (places & 0xffffffff) >> 32);
  }

 private:
  static constexpr u32 step_[axes + 1] = {3785032106, 3335640776, 2939605022, 2590590015, 2283013049};
  u32 at_[axes + 1] = {1u << 31, 1u << 31, 1u << 31, 1u << 31, 1u << 31};
};

}  // namespace

template <class S>
std::vector<SampledBox<S>> all_blocks(const LevelSource<S>& source, size_t l) {
  const Level& level = source.level(l);
  std::vector<SampledBox<S>> boxes;
  for (u64 item = 0; item < source.batch(); item++)
    for (u64 b = 0; b < block_count(level); b++) boxes.push_back({item, block_box(level, b), {}, {}, {}});
  return boxes;
}

template <class S>
std::vector<SampledBox<S>> sample_boxes(const LevelSource<S>& source, size_t l, u64 samples, int smaller) {
  const Level& level = source.level(l);
  std::vector<SampledBox<S>> boxes;
  int rank = 0;
  for (i64 n : level.n) rank += n > 1;
  // Of the active axes, the last one first. Rows are long enough for vectors.
  Index sides = rank == 1   ? Index{8192, 1, 1, 1}
                : rank == 2 ? Index{128, 128, 1, 1}
                : rank == 3 ? Index{48, 24, 24, 1}
                            : Index{32, 8, 8, 8};
  for (; smaller > 0; smaller--) *std::max_element(sides.begin(), sides.end()) /= 2;
  Index most;
  for (size_t a = axes, active = 0; a-- > 0;) most[a] = level.n[a] > 1 ? sides[active++] : 1;
  // Samples near the faces of boxes must be in the fit: weights for interior samples only are bad at the faces of blocks. Faces of the
  // array must have their share of samples, because they are predicted worst: places beyond them are moved inside.
  u64 volume = 0;
  EvenPlaces places;
  while (volume < samples) {
    Box box;
    u64 size = 1;
    places.next();
    for (size_t a = 0; a < axes; a++) {
      box.size[a] = std::min(level.n[a], most[a]);
      const i64 margin = std::max<i64>(0, box.size[a] - 2), last = level.n[a] - box.size[a];
      box.low[a] = std::clamp<i64>(i64(places.along(a, u64(last + 1 + 2 * margin))) - margin, 0, last) / 2 * 2;
      if (box.low[a] + 1 == last) box.size[a]++;  // extends to the face
      size *= u64(box.size[a]);
    }
    boxes.push_back({places.along(axes, source.batch()), box, {}, {}, {}});
    volume += size;
  }
  return boxes;
}

template std::vector<SampledBox<float>> all_blocks(const LevelSource<float>&, size_t);
template std::vector<SampledBox<float>> sample_boxes(const LevelSource<float>&, size_t, u64, int);
template std::vector<SampledBox<double>> all_blocks(const LevelSource<double>&, size_t);
template std::vector<SampledBox<double>> sample_boxes(const LevelSource<double>&, size_t, u64, int);
template std::vector<SampledBox<i64>> all_blocks(const LevelSource<i64>&, size_t);
template std::vector<SampledBox<i64>> sample_boxes(const LevelSource<i64>&, size_t, u64, int);

}  // namespace stz
