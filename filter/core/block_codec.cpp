#include "block_codec.h"

namespace stz {

void class_contexts(const BlockGeometry& g, int cls, const u8* magnitudes, const std::vector<u8>& mask, u8* context) {
  Stencil stencil = make_stencil(stencil_standard, cls, g.active_mask);
  LaidOut laid_out = lay_out(g, cls, stencil);
  u16 weights[max_groups];
  context_weights(stencil, weights);
  TapTable taps = laid_out.table(laid_out.groups);
  Index to = g.counts(cls);
  const int n = int(to[3]);
  if (n == 0) return;
  to[3] = 1;
  u8* out = context;
  for_rows(Index{}, to, [&](i64 i, i64 j, i64 k) {
    kernels().context(magnitudes + g.array(cls) + g.at(i, j, k), taps, weights, context_thresholds, n, out);
    out += n;
  });
  for (size_t i = 0; i < mask.size(); i++)
    if (mask[i]) context[i] = no_context;
}

template <class S>
void fill_masked_class(const BlockGeometry& g, int cls, const u8* kinds, S* values) {
  using R = RealOf<S>;
  LaidOut near = lay_out_nearest(g, cls, false);
  Index to = g.counts(cls);
  for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
    const i64 row = g.array(cls) + g.at(i, j, k);
    for (i64 x = row; x < row + to[3]; x++) {
      if (!kinds[x]) continue;
      R valid = 0, all = 0;
      int count = 0;
      for (std::ptrdiff_t o : near.offset) {
        R v = R(values[x + o]);
        all += v;
        if (kinds[x + o]) continue;
        valid += v;
        count++;
      }
      values[x] = sample_from_real<S>(count ? valid / R(count) : all / R(near.offset.size()));
    }
  });
}

template <class S>
void fill_masked_box(const Box& box, const Index& n, const u8* kinds, S* grid) {
  using R = RealOf<S>;
  const Index stride = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  const Index to = {box.size[0], box.size[1], box.size[2], box.size[3]};
  const i64 first = box.low[0] * stride[0] + box.low[1] * stride[1] + box.low[2] * stride[2] + box.low[3];
  std::vector<u8> state(size_t(to[0] * to[1] * to[2] * to[3]));  // 0 known, 1 unknown, 2 found in this sweep
  const Index step = {to[1] * to[2] * to[3], to[2] * to[3], to[3], 1};
  bool any = false;
  i64 s = 0;
  for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
    const u8* row = kinds + first + i * stride[0] + j * stride[1] + k * stride[2];
    for (i64 x = 0; x < to[3]; x++) {
      state[size_t(s++)] = row[x] != 0;
      any |= row[x] != 0;
    }
  });
  if (!any) return;
  for (int sweep = 0; sweep < 2; sweep++) {
    s = 0;
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      S* row = grid + first + i * stride[0] + j * stride[1] + k * stride[2];
      for (i64 x = 0; x < to[3]; x++, s++) {
        if (state[size_t(s)] != 1) continue;
        const i64 at[axes] = {i, j, k, x};
        R sum = 0;
        int count = 0;
        for (size_t a = 0; a < axes; a++)
          for (int d : {-1, 1}) {
            if (at[a] + d < 0 || at[a] + d >= to[a] || state[size_t(s + d * step[a])] != 0) continue;
            sum += R(row[x + d * stride[a]]);
            count++;
          }
        if (!count) continue;
        row[x] = sample_from_real<S>(sum / R(count));
        state[size_t(s)] = 2;
      }
    });
    for (u8& v : state)
      if (v == 2) v = 0;
  }
}

#define STZ_INSTANTIATE(S)                                                   \
  template void fill_masked_class(const BlockGeometry&, int, const u8*, S*); \
  template void fill_masked_box(const Box&, const Index&, const u8*, S*);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)

}  // namespace stz
