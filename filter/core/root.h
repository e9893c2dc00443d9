// The root section: the coarsest levels, at most 2048 samples, coded sample by sample with the adaptive binary coder.
//
// The coarsest grid is predicted by the sample before it in raster order (the first one by 0), the classes of the levels above by the mean
// of the 1-D cubics. One walk serves both directions: `Codec` codes one row of samples, given its prediction.
#pragma once
#include "block_codec.h"

namespace stz {

// Adaptive models of the root's codes. The context of a code is the size of the two before it.
struct RootModels {
  BitModel verbatim[3];
  SignedModel code[16];
  BitModel masked[4], mask_same;
};

// Walks over one item. row(quantiser level, prediction, n, samples, codes, cls, low-level index function) must fill codes and samples.
// `grids[l]` (l >= root) receive the reconstructions, `magnitudes` those of level root once `mean` is known.
template <class S, class RowCodec>
void walk_root(const Hierarchy& h, std::vector<BlockWork<S>>& works, std::vector<S>& coarsest, std::vector<CodeOf<S>>& coarsest_code,
               RowCodec& codec, std::vector<S>& grid) {
  const size_t top = h.level.size() - 1;
  const Level& coarse = h.level[top];
  coarsest.resize(coarse.samples());
  coarsest_code.resize(coarse.samples());
  codec.begin_level(int(top));
  RealOf<S> previous = 0;
  for (u64 i = 0; i < coarse.samples(); i++) {
    codec.coarsest(i, previous, coarsest_code[i], coarsest[i]);
    previous = RealOf<S>(coarsest[i]);
  }
  grid = coarsest;
  works.resize(top - size_t(h.root));
  for (size_t l = top; l-- > size_t(h.root);) {
    const Level& level = h.level[l];
    BlockWork<S>& work = works[l - size_t(h.root)];
    work.prepare(level, Box{Index{}, level.n}, stencil_standard);
    const BlockGeometry& g = work.geometry;
    codec.begin_level(int(l));
    load_coarse(g, grid.data(), h.level[l + 1].n, work.values.data());
    for (int c = 0; c < g.classes.count; c++) {
      int cls = g.classes.mask[c];
      codec.begin_class(work, cls);
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

// Adds the codes of one item to the sums that the root's mean is made of.
template <class S>
void add_root_codes(const std::vector<BlockWork<S>>& works, const std::vector<CodeOf<S>>& coarsest_code, u64& sum, u64& count) {
  auto add = [&](const CodeOf<S>* code, size_t n) {
    for (size_t i = 0; i < n; i++) {
      if (code[i] == verbatim_code<CodeOf<S>>) continue;
      u64 a = zigzag(code[i]) / 2 + (code[i] < 0);
      sum += a < (u64(1) << 40) ? a : u64(1) << 40;
      count++;
    }
  };
  add(coarsest_code.data(), 0);  // far from zero by construction: left out
  for (const BlockWork<S>& work : works)
    for (int c = 0; c < work.geometry.classes.count; c++) add(work.codes[work.geometry.classes.mask[c]].data(), work.geometry.samples(work.geometry.classes.mask[c]));
}

}  // namespace stz
