#include "predict/block_codec.h"

#include <algorithm>

#include "base/stages.h"
#include "format/convert.h"

namespace stz {

template <class S>
void ClassPlan<S>::make(const BlockGeometry& g, int cls, const ClassParameters& p) {
  const Stencil& standard = stencil_of(stencil_standard, cls, g.active_mask);
  cubic = lay_out(g, g.values, cls, standard);
  const ContextStencil& seen = context_stencil(cls, g.active_mask);
  context = lay_out(g, g.bytes, cls, seen.stencil);
  context_weights = seen.weights;
  linear = p.predictor == predict_linear;
  if (linear) {
    taps = lay_out(g, g.values, cls, stencil_of(StencilId(p.stencil), cls, g.active_mask));
    effective_weights(p, taps, weights);
    groups = p.precision ? taps.groups : 2 * taps.odd;
  } else {
    taps = lay_out_nearest(g, g.values, cls, p.predictor == predict_median_faces);
    groups = 1;
  }
  made = true;
}

template <class S>
void BlockWork<S>::set_masks() {
  STZ_STAGE(mask);
  for (int c = 0; c < geometry.classes.count; c++) {
    const int cls = geometry.classes.mask[c];
    Index to = geometry.counts(cls);
    Buffer<u8>& mask = masks[cls];
    mask.resize(size_t(geometry.samples(cls)) + row_slack);
    size_t at = 0;
    u8 any = 0;
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      const u8* row = specials.data() + geometry.start(geometry.bytes, cls) + geometry.bytes.at(i, j, k);
      u8* of_row = mask.data() + at;
      for (i64 x = 0; x < to[3]; x++) of_row[x] = row[x] != 0;
      any |= any_special(row, u64(to[3]));
      at += size_t(to[3]);
    });
    if (any)
      std::fill(mask.data() + at, mask.end(), u8(0));
    else
      mask.clear();
  }
}

namespace {

// Sets the bytes whose mask is not 0.
void put_where(const u8* mask, size_t n, u8 with, u8* bytes) {
  typedef u8 Sixteen __attribute__((vector_size(16)));
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Sixteen m, b;
    memcpy(&m, mask + i, 16);
    memcpy(&b, bytes + i, 16);
    const Sixteen keep = (Sixteen)(m == 0);
    b = (b & keep) | (with & ~keep);
    memcpy(bytes + i, &b, 16);
  }
  for (; i < n; i++) bytes[i] = mask[i] ? with : bytes[i];
}

}  // namespace

template <class S>
void class_contexts(BlockWork<S>& work, int cls, const ClassParameters& p, Buffer<u8>& context) {
  STZ_STAGE(context);
  const BlockGeometry& g = work.geometry;
  const Index n = g.counts(cls);
  const size_t samples = size_t(g.samples(cls));
  context.resize(samples + row_slack);
  if (!samples) return;
  const ClassPlan<S>& plan = work.plan(cls, p);
  const TapTable taps = plan.context.table(plan.context.groups);
  // Computes a whole plane at a time, including the halo, because rows are short.
  const i64 stride = g.bytes.stride[2], length = (n[2] - 1) * stride + n[3];
  Buffer<u8> plane(size_t(length + row_slack));
  u8* out = context.data();
  for (i64 i = 0; i < n[0]; i++)
    for (i64 j = 0; j < n[1]; j++) {
      kernels().bytes.context(work.first_activity(cls) + g.bytes.at(i, j, 0), taps, plan.context_weights, context_thresholds, int(length),
                              plane.data());
      const u8* row = plane.data();
      for (i64 k = 0; k < n[2]; k++, row += stride, out += n[3])
        for (i64 x = 0; x < n[3]; x += 32) memcpy(out + x, row + x, 32);
    }
  if (const u8* mask = work.mask_or_null(cls)) put_where(mask, samples, no_context, context.data());
}

template <class S>
void class_activities(BlockWork<S>& work, int cls, int mean) {
  STZ_STAGE(activity);
  const BlockGeometry& g = work.geometry;
  const ActivityScale scale = activity_scale(mean);
  const ClassCodes<CodeOf<S>>& codes = work.codes[cls];
  const Index to = g.counts(cls);
  const int n = int(to[3]);
  u8* const first = work.first_activity(cls);
  if (n == 0) return;
  if (codes.as_bytes) {
    i32 code[256];
    u8 table[256];
    for (int z = 0; z < 256; z++) code[z] = i32(unzigzag(u64(z)));
    code_kernels<i32>().activity(code, 256, scale.right, scale.left, scale.factor, table);
    kernels().bytes.activities(codes.bytes.data(), g.rows(g.bytes, cls), table, first);
    for (const WideCode& e : codes.wide_codes) {
      i64 rest = e.index;
      const i64 x = rest % n, k = (rest /= n) % to[2], j = (rest /= to[2]) % to[1], i = rest / to[1];
      const CodeOf<S> c = e.code == outlier_mark ? outlier_code<CodeOf<S>> : CodeOf<S>(e.code);
      u8 activity[1 + row_slack];
      code_kernels<CodeOf<S>>().activity(&c, 1, scale.right, scale.left, scale.factor, activity);
      first[g.bytes.at(i, j, k) + x] = activity[0];
    }
  } else {
    size_t index = 0;
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      code_kernels<CodeOf<S>>().activity(codes.numbers.data() + index, n, scale.right, scale.left, scale.factor,
                                         first + g.bytes.at(i, j, k));
      index += size_t(n);
    });
  }
  if (const u8* mask = work.mask_or_null(cls))
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      u8* row = first + g.bytes.at(i, j, k);
      put_where(mask, size_t(n), mean_activity, row);
      mask += n;
    });
  fill_halo_of_bytes(g, cls, work.activities.data());
}

namespace {

// Replaces the samples whose kind is not 0 by means.
template <class S>
void put_means(const u8* kinds, int n, const RealOf<S>* mean, S* row) {
  int x = 0;
  if constexpr (std::is_floating_point_v<S>) {
    constexpr int lanes = 16 / int(sizeof(S));
    typedef CodeOf<S> Lanes __attribute__((vector_size(16)));
    typedef u8 Kinds __attribute__((vector_size(lanes)));
    for (; x + lanes <= n; x += lanes) {
      Kinds kind;
      Lanes sample, of_mean;
      memcpy(&kind, kinds + x, sizeof kind);
      memcpy(&sample, row + x, sizeof sample);
      memcpy(&of_mean, mean + x, sizeof of_mean);
      const Lanes valid = __builtin_convertvector(kind, Lanes) == 0;
      sample = (sample & valid) | (of_mean & ~valid);
      memcpy(row + x, &sample, sizeof sample);
    }
  }
  for (; x < n; x++) row[x] = kinds[x] ? sample_from_real<S>(mean[x]) : row[x];
}

}  // namespace

template <class S>
void fill_masked_rows(const BlockGeometry& g, int cls, const u8* specials, const Index& from, const Index& to, S* values) {
  STZ_STAGE(mask);
  using R = RealOf<S>;
  const LaidOut near = lay_out_nearest(g, g.values, cls, false), near_specials = lay_out_nearest(g, g.bytes, cls, false);
  const int n = int(to[3]);
  Buffer<R> mean(size_t(n) + row_slack);
  for_rows(from, to, [&](i64 i, i64 j, i64 k) {
    const u8* kinds = specials + g.start(g.bytes, cls) + g.bytes.at(i, j, k);
    if (!any_special(kinds, u64(n))) return;
    S* row = values + g.start(g.values, cls) + g.values.at(i, j, k);
    row_kernels<S>().mean_of_valid(row, kinds, near.offset.data(), near_specials.offset.data(), int(near.offset.size()), n, mean.data());
    put_means(kinds, n, mean.data(), row);
  });
}

namespace {

// A box of samples, marked as known or unknown, with a border of unknown samples along axes with more than one sample.
template <class S>
class FilledBox {
 public:
  FilledBox(const Box& box, const GridPart<const u8>& specials, const GridPart<S>& grid) : box_(box), size_(box.size) {
    i64 total = 1;
    for (size_t a = axes; a-- > 0;) {
      around_[a] = size_[a] > 1;
      stride_[a] = total;
      total *= size_[a] + 2 * around_[a];
    }
    for (size_t a = 0; a < axes; a++)
      if (around_[a])
        for (i64 d : {-stride_[a], stride_[a]}) neighbours_[ways_++] = d;
    samples_.resize(size_t(total) + row_slack);
    unknown_.resize(size_t(total) + row_slack);
    std::fill(samples_.begin(), samples_.end(), S(0));
    std::fill(unknown_.begin(), unknown_.end(), u8(0xff));
    found_.resize(size_t(total) + row_slack);
    mean_.resize(size_t(size_[3]) + row_slack);
    rows([&](i64 at, const Index& i) {
      const u8* kinds = specials.at(i[0], i[1], i[2], box_.low[3]);
      for (i64 x = 0; x < size_[3]; x++) unknown_[size_t(at + x)] = kinds[x] ? 0xff : 0;
      memcpy(samples_.data() + at, grid.at(i[0], i[1], i[2], box_.low[3]), size_t(size_[3]) * sizeof(S));
    });
  }
  // Replaces unknown samples that have known neighbours by the mean of these. They are known from then on.
  void sweep() {
    const size_t n = size_t(size_[3]);
    rows([&](i64 at, const Index&) {
      u8 *const unknown = unknown_.data() + at, *const found = found_.data() + at;
      if (!any_special(unknown, n)) {
        std::fill_n(found, n, u8(0));
        return;
      }
      std::copy_n(unknown + neighbours_[0], n, found);
      for (int w = 1; w < ways_; w++)
        for (size_t x = 0; x < n; x++) found[x] &= unknown[i64(x) + neighbours_[w]];
      for (size_t x = 0; x < n; x++) found[x] = u8(unknown[x] & ~found[x]);
      S* const row = samples_.data() + at;
      row_kernels<S>().mean_of_valid(row, unknown, neighbours_, neighbours_, ways_, int(n), mean_.data());
      put_means(found, int(n), mean_.data(), row);
    });
    rows([&](i64 at, const Index&) {
      for (size_t x = 0; x < n; x++) unknown_[size_t(at) + x] &= u8(~found_[size_t(at) + x]);
    });
  }
  void store(const GridPart<S>& grid) const {
    rows([&](i64 at, const Index& i) {
      memcpy(grid.at(i[0], i[1], i[2], box_.low[3]), samples_.data() + at, size_t(size_[3]) * sizeof(S));
    });
  }

 private:
  template <class F>
  void rows(F row) const {
    for_rows(Index{}, {size_[0], size_[1], size_[2], 1}, [&](i64 i, i64 j, i64 k) {
      const i64 at = (i + around_[0]) * stride_[0] + (j + around_[1]) * stride_[1] + (k + around_[2]) * stride_[2] + around_[3];
      row(at, Index{box_.low[0] + i, box_.low[1] + j, box_.low[2] + k, 0});
    });
  }

  const Box& box_;
  const Index size_;
  Index around_, stride_;
  std::ptrdiff_t neighbours_[2 * axes];
  int ways_ = 0;
  Buffer<S> samples_;
  Buffer<u8> unknown_, found_;  // bytes of all zeros or all ones
  Buffer<RealOf<S>> mean_;
};

}  // namespace

template <class S>
void fill_masked_box(const Box& box, const GridPart<const u8>& specials, const GridPart<S>& grid) {
  STZ_STAGE(mask);
  bool any = false;
  for_rows(Index{}, {box.size[0], box.size[1], box.size[2], 1}, [&](i64 i, i64 j, i64 k) {
    any |= any_special(specials.at(box.low[0] + i, box.low[1] + j, box.low[2] + k, box.low[3]), u64(box.size[3]));
  });
  if (!any || box.size == Index{1, 1, 1, 1}) return;
  FilledBox<S> filled(box, specials, grid);
  for (int sweeps = 0; sweeps < 2; sweeps++) filled.sweep();
  filled.store(grid);
}

#define STZ_INSTANTIATE(S)                                                                              \
  template struct ClassPlan<S>;                                                                         \
  template void BlockWork<S>::set_masks();                                                              \
  template void class_contexts(BlockWork<S>&, int, const ClassParameters&, Buffer<u8>&);                \
  template void class_activities(BlockWork<S>&, int, int);                                              \
  template void fill_masked_rows(const BlockGeometry&, int, const u8*, const Index&, const Index&, S*); \
  template void fill_masked_box(const Box&, const GridPart<const u8>&, const GridPart<S>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
