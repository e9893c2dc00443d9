// The base section: the coarsest levels, at most 256 samples, coded one by one with the adaptive binary coder.
//
// A sample of the coarsest grid is predicted by the one before it in raster order (the first by 0); parity classes of the other levels by
// the mean of the 1-D cubics. Encoder and decoder share one walk; `Codec` codes a row of samples, given its prediction.
#pragma once
#include <algorithm>

#include "coding/binary_coder.h"
#include "predict/block_codec.h"
#include "predict/block_rows.h"

namespace stz {

// Adaptive models for the codes (quantization indices) of the base section. The context of a code is the magnitude of the two codes before
// it.
struct BaseModels {
  BitModel outlier;
  SignedModel code[16];
  u64 before[2] = {0, 0};
  SignedModel& next() { return code[std::min<size_t>(15, size_t(floor_log2(2 * (before[0] + before[1]) + 1)))]; }
  void remember(u64 code_size) {
    before[1] = before[0];
    before[0] = std::min<u64>(code_size, 1 << 20);
  }
};

// Stores the codes of a level's block in the grid of the base level. Samples of the level are 2^k apart there along axes that were split k
// times.
template <class S>
void store_base_codes(const Hierarchy& h, size_t l, const BlockWork<S>& work, CodeOf<S>* grid) {
  const BlockGeometry& g = work.geometry;
  const Index& n = h.level[size_t(h.base_level)].n;
  Index step{1, 1, 1, 1};
  for (size_t k = size_t(h.base_level); k < l; k++)
    for (size_t a = 0; a < axes; a++)
      if (h.level[k].split[a]) step[a] *= 2;
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const Index to = g.counts(cls);
    const CodeOf<S>* code = work.codes[cls].numbers.data();
    auto at = [&](size_t a, i64 v) { return (g.split_mask >> a & 1 ? 2 * v + (cls >> a & 1) : v) * step[a]; };
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      CodeOf<S>* row = grid + ((at(0, i) * n[1] + at(1, j)) * n[2] + at(2, k)) * n[3];
      for (i64 x = 0; x < to[3]; x++) row[at(3, x)] = *code++;
    });
  }
}

// Walks over one item, coarse to fine. The codec codes one sample of the coarsest grid, or one row of a class: it fills codes and samples.
// `grid` receives the reconstruction of the base level, `codes` its codes. Codes of the coarsest grid are stored as zero, because they are
// large by construction. `work`: buffers.
template <class S, class RowCodec>
void walk_base_section(const Hierarchy& h, BlockWork<S>& work, RowCodec& codec, std::vector<S>& grid, CodeOf<S>* codes) {
  const size_t top = h.level.size() - 1;
  const Level& coarse = h.level[top];
  grid.resize(coarse.samples());
  codec.begin_level(top);
  RealOf<S> previous = 0;
  for (u64 i = 0; i < coarse.samples(); i++) {
    codec.coarsest(i, previous, grid[i]);
    previous = RealOf<S>(grid[i]);
  }
  std::fill(codes, codes + h.level[size_t(h.base_level)].samples(), CodeOf<S>(0));
  for (size_t l = top; l-- > size_t(h.base_level);) {
    const Level& level = h.level[l];
    work.prepare(level, Box{Index{}, level.n}, stencil_standard);
    const BlockGeometry& g = work.geometry;
    codec.begin_level(l);
    load_coarse<S>(g, whole_grid(grid.data(), h.level[l + 1]), work.values.data());
    codec.masks(work);
    for (int c = 0; c < g.classes.count; c++) {
      int cls = g.classes.mask[c];
      work.numbers(cls);
      for_predicted_rows(work, cls, ClassParameters{}, [&](S* samples, const RealOf<S>* p, int n, size_t index, const Index& at) {
        codec.row(work, cls, samples, p, n, index, at);
      });
      complete_class(work, cls, ClassParameters{});
    }
    grid.resize(level.samples());
    store_block(g, work.values.data(), whole_grid(grid.data(), level));
    codec.end_level(work, grid);
    store_base_codes(h, l, work, codes);
  }
}

// Computes the mean magnitude of the base section's codes (all items), and the activities of the base level. `specials`: special values of
// the base level, or null. Returns the mean.
template <class Code>
int base_activities(const std::vector<Code>& codes, const u8* specials, Buffer<u8>& activities) {
  u64 sum = 0, count = 0;
  add_code_sizes(codes.data(), codes.size(), sum, count);
  const int mean = mean_index(sum, count);
  const ActivityScale scale = activity_scale(mean);
  activities.resize(codes.size());
  constexpr size_t piece = 1 << 20;
  for (size_t i = 0; i < codes.size(); i += piece)
    code_kernels<Code>().activity(codes.data() + i, int(std::min(piece, codes.size() - i)), scale.right, scale.left, scale.factor,
                                  activities.data() + i);
  if (specials)
    for (size_t i = 0; i < codes.size(); i++)
      if (specials[i]) activities[i] = mean_activity;
  return mean;
}

}  // namespace stz
