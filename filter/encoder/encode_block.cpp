#include "encoder/encode_block.h"

#include <algorithm>

#include "base/stages.h"
#include "format/sweep.h"

namespace stz {

template <class S>
void prepare_box(const LevelSource<S>& source, const LevelState<S>& state, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work, bool with_samples) {
  STZ_STAGE(load);
  work.prepare(source.level(l), box, reach);
  const BlockGeometry& g = work.geometry;
  const Level& coarser = source.level(l + 1);
  load_coarse(g, whole_grid(state.grid.data() + item * coarser.samples(), coarser), work.values.data());
  if (with_samples) load_block(g, source.samples(l, item), work.values.data());
  load_coarse_bytes(g, whole_grid(state.activities.data() + item * coarser.samples(), coarser), work.activities.data());
  if (!source.has_specials()) return;
  source.load_specials(work, l, item);
  for (int c = 0; c < g.classes.count; c++) fill_halo_of_bytes(g, g.classes.mask[c], work.specials.data());
  work.set_masks();
}

namespace {

// Samples of a task whose first one has the raster index `first`, to bytes from there on.
template <class T>
void code_bytes(const Quantizer<T>& q, const ClassTask<T>& task, u32 first, int cls, BlockWork<T>& work) {
  STZ_STAGE(predict);
  const u8* mask = work.mask_or_null(cls);
  ClassCodes<CodeOf<T>>& codes = work.codes[cls];
  FailedSample<T>* failed = work.failed.data();
  const u32 failures = uniform_kernels<T>().encode_class(task, mask ? mask + first : nullptr, codes.bytes.data() + first, failed);
  if (!failures) return;
  std::sort(failed, failed + failures, [](const auto& a, const auto& b) { return a.index < b.index; });
  for (u32 f = 0; f < failures; f++) failed[f].index += first;
  requantize_failed_samples(q, failed, failures, mask, codes.bytes.data(), codes.wide_codes);
}

}  // namespace

template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work) {
  const Quantizer<S>& q = source.quantizer(l);
  const u8* mask = work.mask_or_null(cls);
  if constexpr (std::is_floating_point_v<S>) {
    if (as_bytes) {
      work.bytes(cls);
      work.failed.resize(work.geometry.samples(cls));
      code_bytes(q, class_task(work, cls, p, q), 0, cls, work);
      complete_class(work, cls, p);
      return;
    }
  }
  STZ_STAGE(predict);
  CodeOf<S>* numbers = work.numbers(cls);
  Buffer<S> x(size_t(work.geometry.count(cls, 3)) + 1);
  for_predicted_rows(work, cls, p, [&](S* samples, const RealOf<S>* prediction, int n, size_t index, const Index&) {
    memcpy(x.data(), samples, size_t(n) * sizeof(S));
    quantize_row(q, x.data(), 1, prediction, n, mask ? mask + index : nullptr, u32(index), numbers + index, samples,
                 work.codes[cls].outliers);
  });
  complete_class(work, cls, p);
}

template <class S>
void code_block(const LevelSource<S>& source, size_t l, u64 item, const ClassParameters* p, BlockWork<S>& work, const PlanesDone* done) {
  const BlockGeometry& g = work.geometry;
  const Quantizer<S>& q = source.quantizer(l);
  const GridPart<const S> samples = source.samples(l, item);
  const int axis = sweep_axis(g);
  bool all_bytes = true;
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    all_bytes &= uses_byte_indices(q, p[cls].mean) && !work.mask_or_null(cls);
  }
  bool swept = false;
  if constexpr (std::is_floating_point_v<S>)
    if (axis >= 0 && all_bytes) {
      swept = true;
      u64 largest = 0;
      for (int c = 0; c < g.classes.count; c++) {
        work.bytes(g.classes.mask[c]);
        largest = std::max(largest, g.samples(g.classes.mask[c]));
      }
      work.failed.resize(largest);
      int first[2] = {-1, -1};  // the first class of either parity loads the plane
      for (int c = g.classes.count; c-- > 0;) first[g.classes.mask[c] >> axis & 1] = g.classes.mask[c];
      sweep(
          work, p, axis, all_classes,
          [&](int cls, i64 j) {
            const int parity = cls >> axis & 1;
            if (cls == first[parity]) load_block(g, samples, work.values.data(), Planes{axis, 2 * j + parity, 2 * j + parity + 1});
            const PlaneTask<S> plane = plane_task(work, cls, p[cls], q, axis, j);
            code_bytes(q, plane.task, plane.first, cls, work);
          },
          [&](i64 j) {
            if (done) (*done)(Planes{axis, 2 * j, std::min(2 * j + 2, g.box.size[size_t(axis)])});
          });
    }
  if (!swept) {
    load_block(g, samples, work.values.data());
    for (int c = 0; c < g.classes.count; c++) {
      const int cls = g.classes.mask[c];
      code_class(source, l, cls, p[cls], uses_byte_indices(q, p[cls].mean), work);
    }
    if (done) (*done)(Planes{});
  }
  for (int c = 0; c < g.classes.count; c++)  // those of the last class of level 0 are of no use
    if (l > 0 || c + 1 < g.classes.count) class_activities(work, g.classes.mask[c], p[g.classes.mask[c]].mean);
}

#define STZ_INSTANTIATE(S)                                                                                                         \
  template void prepare_box(const LevelSource<S>&, const LevelState<S>&, size_t, u64, const Box&, StencilId, BlockWork<S>&, bool); \
  template void code_class(const LevelSource<S>&, size_t, int, const ClassParameters&, bool, BlockWork<S>&);                       \
  template void code_block(const LevelSource<S>&, size_t, u64, const ClassParameters*, BlockWork<S>&, const PlanesDone*);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)

}  // namespace stz
