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

}  // namespace stz
