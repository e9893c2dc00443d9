// What encoder and decoder do alike with one block: predict a class, form contexts and magnitudes.
#pragma once
#include "parameters.h"
#include "quantize.h"

namespace stz {

// Arrays of one block. Class arrays of values and magnitudes have a halo (see block.h); codes, contexts and masks of a class are
// contiguous in raster order.
template <class S>
struct BlockWork {
  using Code = CodeOf<S>;
  BlockGeometry geometry;
  std::vector<S> values;
  std::vector<u8> magnitudes;
  std::vector<Code> codes[16];
  std::vector<u8> masks[16];  // empty: no sample of the class is masked
  std::vector<Verbatim> verbatim[16];
  std::vector<u8> kinds;  // mask kinds with halo, like magnitudes; empty if nothing is masked

  void prepare(const Level& level, const Box& box, StencilId reach) {
    geometry = block_geometry(level, box, reach);
    if (values.size() < size_t(geometry.total())) values.resize(size_t(geometry.total()));
    if (magnitudes.size() < size_t(geometry.total())) magnitudes.resize(size_t(geometry.total()));
    for (int c = 0; c < geometry.classes.count; c++) {
      int cls = geometry.classes.mask[c];
      codes[cls].resize(geometry.samples(cls) + row_slack);
      masks[cls].clear();
      verbatim[cls].clear();
    }
    kinds.clear();
  }
  // Masks of all classes from `kinds`.
  void set_masks();
};

// Predicts rows of a class as its parameters say.
template <class S>
class ClassPredictor {
 public:
  ClassPredictor(const BlockGeometry& g, int cls, const ClassParameters& p) : predictor_(p.predictor) {
    if (predictor_ != predict_linear) {
      laid_out_ = lay_out_nearest(g, cls, predictor_ == predict_median_faces);
      return;
    }
    laid_out_ = lay_out(g, cls, make_stencil(StencilId(p.stencil), cls, g.active_mask));
    effective_weights(p, laid_out_, weights_);
    table_ = laid_out_.table(p.precision ? laid_out_.groups : 2 * laid_out_.odd);
  }
  void row(const S* samples, int n, RealOf<S>* p) const {
    if (predictor_ == predict_linear)
      row_kernels<S>().predict(samples, table_, weights_, n, p);
    else
      row_kernels<S>().median(samples, laid_out_.offset.data(), laid_out_.taps[0], n, p);
  }

 private:
  u8 predictor_;
  LaidOut laid_out_;
  TapTable table_;
  RealOf<S> weights_[max_groups];
};

// Calls row(samples, prediction, n, index, at) for every row of a class; `samples` points at the first one in the value array, `index` is
// its number in raster order, `at` its index along the axes.
template <class S, class F>
void for_predicted_rows(const BlockGeometry& g, int cls, const ClassParameters& p, S* values, F row) {
  ClassPredictor<S> predictor(g, cls, p);
  Index to = g.counts(cls);
  const int n = int(to[3]);
  if (n == 0) return;
  to[3] = 1;
  std::vector<RealOf<S>> prediction(size_t(n + row_slack));
  size_t index = 0;
  for_rows(Index{}, to, [&](i64 i, i64 j, i64 k) {
    S* samples = values + g.array(cls) + g.at(i, j, k);
    predictor.row(samples, n, prediction.data());
    row(samples, prediction.data(), n, index, Index{i, j, k, 0});
    index += size_t(n);
  });
}

// Contexts of a class, raster order, from the magnitudes of the classes before it. `context` has row_slack elements more.
void class_contexts(const BlockGeometry& g, int cls, const u8* magnitudes, const std::vector<u8>& mask, u8* context);

// Adds |code| of all codes but verbatim ones to the sums that a mean is made of.
template <class Code>
void add_magnitudes(const Code* code, size_t n, u64& sum, u64& count) {
  for (size_t i = 0; i < n; i++) {
    if (code[i] == verbatim_code<Code>) continue;
    u64 a = zigzag(code[i]) / 2 + (code[i] < 0);
    sum += a < (u64(1) << 40) ? a : u64(1) << 40;
    count++;
  }
}

// Masked samples take part in later predictions, so they get a likely value: the mean of their nearest valid neighbours among coarser
// samples and earlier classes (of all nearest ones if none is valid).
template <class S>
void fill_masked_class(const BlockGeometry& g, int cls, const u8* kinds, S* values);
// The same once a block is complete, over face neighbours of the level inside the block, spreading two samples far. `grid` and `kinds`: the
// level's samples and mask kinds (extent n).
template <class S>
void fill_masked_box(const Box& box, const Index& n, const u8* kinds, S* grid);

constexpr u8 mean_magnitude = 16;  // what a masked sample counts in contexts

// Normalised magnitudes of a class from its codes, with halo.
template <class Code>
void class_magnitudes(const BlockGeometry& g, int cls, const Code* code, int mean, const std::vector<u8>& mask, u8* magnitudes) {
  MagnitudeScale scale = magnitude_scale(mean);
  Index to = g.counts(cls);
  const int n = int(to[3]);
  to[3] = 1;
  if (n == 0) return;
  size_t index = 0;
  for_rows(Index{}, to, [&](i64 i, i64 j, i64 k) {
    u8* row = magnitudes + g.array(cls) + g.at(i, j, k);
    code_kernels<Code>().magnitude(code + index, n, scale.right, scale.left, scale.factor, row);
    if (!mask.empty())
      for (int x = 0; x < n; x++)
        if (mask[index + size_t(x)]) row[x] = mean_magnitude;
    index += size_t(n);
  });
  close_magnitudes(g, cls, magnitudes);
}

template <class S>
void BlockWork<S>::set_masks() {
  for (int c = 0; c < geometry.classes.count; c++) {
    const int cls = geometry.classes.mask[c];
    Index to = geometry.counts(cls);
    const i64 n = to[3];
    to[3] = 1;
    std::vector<u8>& mask = masks[cls];
    mask.resize(size_t(geometry.samples(cls)));
    size_t at = 0;
    u8 any = 0;
    for_rows(Index{}, to, [&](i64 i, i64 j, i64 k) {
      const u8* row = kinds.data() + geometry.array(cls) + geometry.at(i, j, k);
      for (i64 x = 0; x < n; x++) {
        mask[at++] = row[x] != 0;
        any |= row[x];
      }
    });
    if (!any) mask.clear();
  }
}

}  // namespace stz
