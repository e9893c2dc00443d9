// The root section: the coarsest levels, at most 256 samples, coded sample by sample with the adaptive binary coder.
//
// The coarsest grid is predicted by the sample before it in raster order (the first one by 0), the classes of the levels above by the mean
// of the 1-D cubics. One walk serves both directions: `Codec` codes one row of samples, given its prediction.
#pragma once
#include <algorithm>

#include "block_codec.h"

namespace stz {

// Adaptive models of the root's codes. The context of a code is the size of the two before it.
struct RootModels {
  BitModel verbatim;
  SignedModel code[16];
  u64 before[2] = {0, 0};
  SignedModel& next() { return code[std::min<size_t>(15, size_t(floor_log2(2 * (before[0] + before[1]) + 1)))]; }
  void remember(u64 magnitude) {
    before[1] = before[0];
    before[0] = std::min<u64>(magnitude, 1 << 20);
  }
};

// Walks over one item, coarse to fine. The codec codes one sample of the coarsest grid, or one row of a class: it fills codes and samples.
// `works` keep the levels' blocks, `grid` receives the reconstruction of level root.
template <class S, class RowCodec>
void walk_root(const Hierarchy& h, std::vector<BlockWork<S>>& works, std::vector<CodeOf<S>>& coarsest_code, RowCodec& codec, std::vector<S>& grid) {
  const size_t top = h.level.size() - 1;
  const Level& coarse = h.level[top];
  grid.resize(coarse.samples());
  coarsest_code.resize(coarse.samples());
  codec.begin_level(top);
  RealOf<S> previous = 0;
  for (u64 i = 0; i < coarse.samples(); i++) {
    codec.coarsest(i, previous, coarsest_code[i], grid[i]);
    previous = RealOf<S>(grid[i]);
  }
  works.resize(top - size_t(h.root));
  for (size_t l = top; l-- > size_t(h.root);) {
    const Level& level = h.level[l];
    BlockWork<S>& work = works[l - size_t(h.root)];
    work.prepare(level, Box{Index{}, level.n}, stencil_standard);
    const BlockGeometry& g = work.geometry;
    codec.begin_level(l);
    load_coarse(g, grid.data(), h.level[l + 1].n, work.values.data());
    codec.masks(work);
    for (int c = 0; c < g.classes.count; c++) {
      int cls = g.classes.mask[c];
      for_predicted_rows<S>(g, cls, ClassParameters{}, work.values.data(), [&](S* samples, const RealOf<S>* p, int n, size_t index, const Index& at) {
        codec.row(work, cls, samples, p, n, index, at);
      });
      if (!work.masks[cls].empty()) fill_masked_class(g, cls, work.kinds.data(), work.values.data());
      close_class(g, cls, work.values.data());
    }
    grid.resize(level.samples());
    store_block(g, work.values.data(), level.n, grid.data());
    codec.end_level(work, grid);
  }
}

// Mean magnitude over all codes of the root, and from it the magnitudes of level root of one item.
template <class S>
void root_magnitudes(const Hierarchy& h, int mean, std::vector<BlockWork<S>>& works, const std::vector<CodeOf<S>>& coarsest_code,
                     std::vector<u8>& grid) {
  MagnitudeScale scale = magnitude_scale(mean);
  grid.resize(coarsest_code.size());
  code_kernels<CodeOf<S>>().magnitude(coarsest_code.data(), int(coarsest_code.size()), scale.right, scale.left, scale.factor, grid.data());
  for (size_t k = works.size(); k-- > 0;) {
    BlockWork<S>& work = works[k];
    const BlockGeometry& g = work.geometry;
    const size_t l = size_t(h.root) + k;
    load_coarse_magnitudes(g, grid.data(), h.level[l + 1].n, work.magnitudes.data());
    for (int c = 0; c < g.classes.count; c++) class_magnitudes(g, g.classes.mask[c], work.codes[g.classes.mask[c]].data(), mean, work.masks[g.classes.mask[c]], work.magnitudes.data());
    grid.resize(h.level[l].samples());
    store_magnitudes(g, work.magnitudes.data(), h.level[l].n, grid.data());
  }
}

// Adds the codes of one item's classes to the sums that the root's mean is made of. Those of the coarsest grid are left out: they are far
// from zero by construction.
template <class S>
void add_root_codes(const std::vector<BlockWork<S>>& works, u64& sum, u64& count) {
  for (const BlockWork<S>& work : works)
    for (int c = 0; c < work.geometry.classes.count; c++) {
      const int cls = work.geometry.classes.mask[c];
      add_magnitudes(work.codes[cls].data(), size_t(work.geometry.samples(cls)), sum, count);
    }
}

}  // namespace stz
