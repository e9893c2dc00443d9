#include "fit_level.h"

#include <algorithm>
#include <memory>

#include "choose_models.h"
#include "fit.h"

namespace stz {
namespace {

// Levels of at most this many samples are learned whole, larger ones from boxes of that many samples in all.
constexpr u64 exact_samples = 1u << 20;
constexpr size_t fit_samples = 6000;
constexpr u64 fewest_samples = 48;  // smaller classes take the mean of the cubics

u64 pseudo_random(u64& seed) { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; }

template <class S>
std::vector<SampledBox<S>> sample_boxes(const LevelSource<S>& source, const LevelState<S>& state, size_t l, StencilId widest, bool exact) {
  const Level& level = source.level(l);
  std::vector<SampledBox<S>> boxes;
  if (exact) {
    for (u64 item = 0; item < source.batch(); item++)
      for (u64 b = 0; b < block_count(level); b++) {
        boxes.push_back({item, {}});
        prepare_box(source, state, l, item, block_box(level, b), widest, boxes.back().work);
      }
    return boxes;
  }
  int rank = 0;
  for (i64 n : level.n) rank += n > 1;
  const i64 side = rank == 1 ? 8192 : rank == 2 ? 128 : rank == 3 ? 32 : 16;
  // Samples near the faces of the boxes belong to the fit: weights for the inside alone fail at the faces of the blocks.
  u64 volume = 0, seed = 7;
  while (volume < exact_samples) {
    Box box;
    u64 size = 1;
    for (size_t a = 0; a < axes; a++) {
      box.size[a] = std::min(level.n[a], side);
      const u64 places = u64(level.n[a] - box.size[a]) / 2 + 1;
      box.low[a] = i64(pseudo_random(seed) % places) * 2;
      size *= u64(box.size[a]);
    }
    boxes.push_back({pseudo_random(seed) % source.batch(), {}});
    prepare_box(source, state, l, boxes.back().item, box, widest, boxes.back().work);
    volume += size;
  }
  return boxes;
}

template <class S>
ClassParameters fit_prediction(const LevelSource<S>& source, const ParameterState& state, std::vector<SampledBox<S>>& boxes, size_t l,
                               int cls, StencilId widest) {
  using Real = RealOf<S>;
  ClassParameters p;
  const int active = boxes[0].work.geometry.active_mask;
  FitOptions options;
  const Stencil& stencil = stencil_of(widest, cls, active);
  options.standard_groups = int(stencil_of(stencil_standard, cls, active).groups.size());
  options.wide_groups = int(stencil_of(stencil_wide, cls, active).groups.size());
  if (widest == stencil_long) options.long_groups = int(stencil.groups.size());
  p.groups = u8(options.standard_groups);
  u64 in_boxes = 0;
  for (SampledBox<S>& box : boxes) in_boxes += box.work.geometry.samples(cls);
  if (in_boxes < fewest_samples) return p;
  options.class_samples = source.class_samples(l, cls);
  options.coarser = state.has_coarser[cls] ? &state.coarser[cls] : nullptr;
  const size_t want = std::min<u64>(fit_samples, in_boxes);
  FitSamples samples(int(stencil.groups.size()), want);
  // runs of up to 16 samples, spread evenly by number and irregularly by position
  u64 seed = 1;
  constexpr int run = 16;
  const std::ptrdiff_t pitch = run + row_slack;
  const size_t room = size_t(pitch);
  std::vector<Real> sums(room * stencil.groups.size()), median(room), median_faces(room);
  const bool everything = in_boxes <= want;
  u64 attempts = everything ? 1 : 4 * want / run;
  for (u64 t = 0; t < attempts && !samples.full(); t++) {
    for (size_t b = 0; b < boxes.size() && !samples.full(); b++) {
      SampledBox<S>& box = boxes[b];
      const BlockGeometry& g = box.work.geometry;
      const Index to = g.counts(cls);
      if (g.samples(cls) == 0) continue;
      LaidOut laid_out = lay_out(g, g.values, cls, stencil), near = lay_out_nearest(g, g.values, cls, false),
              faces = lay_out_nearest(g, g.values, cls, true);
      auto add = [&](i64 i, i64 j, i64 k, i64 x, int n) {
        S* at = box.work.first(cls) + g.values.at(i, j, k) + x;
        const u64 index = u64(((i * to[1] + j) * to[2] + k) * to[3] + x);
        const u8* masked = box.work.mask_or_null(cls) ? box.work.mask_or_null(cls) + index : nullptr;
        row_kernels<S>().group_sums(at, laid_out.table(laid_out.groups), n, sums.data(), pitch);
        row_kernels<S>().median(at, near.offset.data(), int(near.offset.size()), n, median.data());
        row_kernels<S>().median(at, faces.offset.data(), int(faces.offset.size()), n, median_faces.data());
        const S* x_row = source.row(source.samples(l, box.item), l, g, cls, Index{i, j, k, 0}) + x * source.row_stride(l);
        samples.add_run<S>(laid_out, sums.data(), pitch, x_row, source.row_stride(l), n, masked, source.unit(l), median.data(),
                           median_faces.data());
      };
      if (everything) {
        for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
          for (i64 x = 0; x < to[3]; x += run) add(i, j, k, x, int(std::min<i64>(run, to[3] - x)));
        });
      } else {
        // boxes get runs by their share of the samples
        u64 share = std::max<u64>(1, (want / run * g.samples(cls) + in_boxes / 2) / in_boxes);
        u64 runs = t == 0 ? share : 1;
        for (u64 r = 0; r < runs && !samples.full(); r++) {
          i64 c[axes];
          for (size_t a = 0; a < axes; a++) {
            i64 extent = to[a] - (a == 3 ? std::min<i64>(run, to[3]) - 1 : 0);
            c[a] = i64(pseudo_random(seed) % u64(std::max<i64>(1, extent)));
          }
          add(c[0], c[1], c[2], c[3], int(std::min<i64>(run, to[3] - c[3])));
        }
      }
    }
  }
  return fit_class(samples, options);
}

// Contexts of a class in all boxes, its mean magnitude and its models; magnitudes for the classes after it. Returns the size in bits.
template <class S>
double fit_models(const LevelSource<S>& source, const ParameterState& state, std::vector<SampledBox<S>>& boxes, bool exact, size_t l,
                  int cls, ClassParameters& p) {
  auto histogram = std::make_unique<ClassHistogram[]>(1);
  Buffer<u8> context;
  u64 sum = 0, count = 0, verbatim = 0;
  for (SampledBox<S>& box : boxes) {
    const size_t n = size_t(box.work.geometry.samples(cls));
    class_contexts(box.work, cls, p, context);
    add_to_histogram(box.work.codes[cls], context.data(), n, histogram[0]);
    add_magnitudes(box.work.codes[cls], n, sum, count);
    if (const u8* mask = box.work.mask_or_null(cls))
      for (size_t i = 0; i < n; i++) count -= mask[i];
    verbatim += box.work.codes[cls].stored_samples();
  }
  p.mean = mean_index(sum, count);
  // a sample may miss what is rare, and a stored sample needs its code: no codes at all is for classes known to be zero
  if (!p.mean && (!exact || verbatim)) p.mean = smallest_mean;
  for (SampledBox<S>& box : boxes) class_magnitudes(box.work, cls, p.mean);
  if (!p.mean) return 0;
  const double bits = choose_models(histogram[0], state.models, max_model_shift(8 * int(sizeof(CodeOf<S>))), p);
  return bits * double(source.class_samples(l, cls)) / double(std::max<u64>(1, count));
}

}  // namespace

template <class S>
void prepare_box(const LevelSource<S>& source, const LevelState<S>& state, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work) {
  work.prepare(source.level(l), box, reach);
  const BlockGeometry& g = work.geometry;
  const Level& coarser = source.level(l + 1);
  load_coarse(g, state.grid.data() + item * coarser.samples(), coarser.n, work.values.data());
  load_block(g, source.samples(l, item), source.level(l).n, work.values.data());
  load_coarse_magnitudes(g, state.magnitudes.data() + item * coarser.samples(), coarser.n, work.magnitudes.data());
  if (!source.has_kinds()) return;
  source.load_kinds(work, l, item);
  for (int c = 0; c < g.classes.count; c++) close_magnitudes(g, g.classes.mask[c], work.kinds.data());
  work.set_masks();
}

template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work) {
  const Quantizer<S>& q = source.quantizer(l);
  const u8* mask = work.mask_or_null(cls);
  if constexpr (S(0.5) != S(0)) {
    if (as_bytes) {
      u8* bytes = work.bytes(cls);
      work.failed.resize(work.geometry.samples(cls));
      const ClassTask<S> task = class_task(work, cls, p, q);
      const u32 failures = uniform_kernels<S>().encode_class(task, mask, bytes, work.failed.data());
      std::sort(work.failed.data(), work.failed.data() + failures, [](const auto& a, const auto& b) { return a.index < b.index; });
      settle_failed(q, work.failed.data(), failures, mask, bytes, work.codes[cls].exceptions);
      complete_class(work, cls, p);
      return;
    }
  }
  CodeOf<S>* numbers = work.numbers(cls);
  Buffer<S> x(size_t(work.geometry.count(cls, 3)) + 1);
  for_predicted_rows(work, cls, p, [&](S* samples, const RealOf<S>* prediction, int n, size_t index, const Index&) {
    memcpy(x.data(), samples, size_t(n) * sizeof(S));
    quantize_row(q, x.data(), 1, prediction, n, mask ? mask + index : nullptr, u32(index), numbers + index, samples,
                 work.codes[cls].verbatim);
  });
  complete_class(work, cls, p);
}

template <class S>
FittedLevel<S> fit_level(const LevelSource<S>& source, const LevelState<S>& state, size_t l) {
  const Level& level = source.level(l);
  const ClassList classes = classes_of(level.split_mask());
  const int active = level.active_mask(), rank = __builtin_popcount(unsigned(active));
  const StencilId widest = rank <= 2 ? stencil_long : stencil_wide;
  FittedLevel<S> fitted;
  fitted.exact = level.samples() * source.batch() <= exact_samples;
  fitted.boxes = sample_boxes(source, state, l, widest, fitted.exact);
  ParameterState so_far = state.parameters;
  ParameterModels models;
  BinaryEncoder unused;
  for (int c = 0; c < classes.count; c++) {
    const int cls = classes.mask[c];
    ClassParameters& p = fitted.parameters[cls];
    p = fit_prediction(source, so_far, fitted.boxes, l, cls, widest);
    // the coarser level tells what codes to expect
    const bool as_bytes = so_far.has_coarser[cls] && keeps_bytes(source.quantizer(l), so_far.coarser[cls].mean);
    for (SampledBox<S>& box : fitted.boxes) code_class(source, l, cls, p, as_bytes, box.work);
    fitted.bits += fit_models(source, so_far, fitted.boxes, fitted.exact, l, cls, p);
    write_class(unused, models, so_far, cls, active, max_model_shift(8 * int(sizeof(CodeOf<S>))), p);  // what later classes build on
  }
  return fitted;
}

#define STZ_INSTANTIATE(S)                                                                                                   \
  template void prepare_box(const LevelSource<S>&, const LevelState<S>&, size_t, u64, const Box&, StencilId, BlockWork<S>&); \
  template void code_class(const LevelSource<S>&, size_t, int, const ClassParameters&, bool, BlockWork<S>&);                 \
  template FittedLevel<S> fit_level(const LevelSource<S>&, const LevelState<S>&, size_t);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)

}  // namespace stz
