#include "encoder/encode_root.h"

#include "format/root.h"
#include "format/section.h"

namespace stz {
namespace {

template <class S>
struct RootWriter {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  const LevelSource<S>& source;
  BinaryEncoder out;
  RootModels models;
  MaskModels mask_models;
  u64 item = 0;
  size_t level = 0;
  u8 kind_before = 0;

  void begin_level(size_t l) { level = l; }

  void coarsest(u64 i, Real p, S& r) {
    u8 kind = mask_none;
    if (source.has_kinds()) {
      kind = source.kinds(level, item).data[i];
      auto writer = source.mask_writer(out);
      const u64 index = level_zero_index(source.level(level), level_map(source.hierarchy(), level, item), i);
      writer.code(mask_models.masked[0][kind_before ? 1 : 0], mask_models, kind, kind_before, index);
      kind_before = kind;
    }
    const u8 masked = kind != mask_none;
    std::vector<Verbatim> verbatim;
    size_t next = 0;
    Code c;
    quantize_row(source.quantizer(level), source.samples(level, item).data + i, 1, &p, 1, &masked, 0, &c, &r, verbatim);
    if (!masked) code(c, verbatim, next);
  }

  void masks(BlockWork<S>& work) {
    if (!source.has_kinds()) return;
    source.load_kinds(work, level, item);
    auto writer = source.mask_writer(out);
    code_block_mask(writer, mask_models, work.geometry, level_map(source.hierarchy(), level, item), work.kinds.data());
    work.set_masks();
  }

  void row(BlockWork<S>& work, int cls, S* samples, const Real* p, int n, size_t index, const Index& at) {
    const S* x = source.row(source.samples(level, item), work.geometry, cls, at);
    Code* c = work.codes[cls].numbers.data() + index;
    std::vector<Verbatim>& verbatim = work.codes[cls].verbatim;
    const u8* masked = work.mask_or_null(cls) ? work.mask_or_null(cls) + index : nullptr;
    size_t next = verbatim.size();
    quantize_row(source.quantizer(level), x, source.row_stride(level), p, n, masked, u32(index), c, samples, verbatim);
    for (int i = 0; i < n; i++)
      if (!masked || !masked[i]) code(c[i], verbatim, next);
  }

  void end_level(BlockWork<S>& work, std::vector<S>& grid) {
    if (source.has_kinds()) fill_masked_box(work.geometry.box, source.kinds(level, item), whole_grid(grid.data(), source.level(level)));
  }

 private:
  void code(Code c, const std::vector<Verbatim>& verbatim, size_t& next) {
    const bool stored = c == verbatim_code<Code>;
    out.bit(models.verbatim, stored);
    if (stored)
      out.raw(verbatim[next++].bits, 8 * sizeof(S));
    else
      out.signed_number(models.next(), c);
    models.remember(stored ? 0 : zigzag(c) / 2);
  }
};

}  // namespace

template <class S>
Bytes encode_root(const LevelSource<S>& source, LevelState<S>& state) {
  const Hierarchy& h = source.hierarchy();
  const u64 samples = h.level[size_t(h.root)].samples();
  RootWriter<S> writer{source, {}, {}, {}};
  std::vector<CodeOf<S>> codes(samples * h.batch);
  std::vector<S> grid;
  BlockWork<S> work;
  state.grid.resize(samples * h.batch);
  for (u64 item = 0; item < h.batch; item++) {
    writer.item = item;
    walk_root<S>(h, work, writer, grid, codes.data() + item * samples);
    std::copy(grid.begin(), grid.end(), state.grid.data() + item * samples);
  }
  const int mean = root_magnitudes(codes, source.has_kinds() ? source.kinds(size_t(h.root), 0).data : nullptr, state.magnitudes);
  if (mean) state.parameters.mean = mean;
  Bytes out = writer.out.finish();
  put_check(out, crc32c(out.data(), out.size()), check_size(out.size()));
  return out;
}

template Bytes encode_root(const LevelSource<float>&, LevelState<float>&);
template Bytes encode_root(const LevelSource<double>&, LevelState<double>&);
template Bytes encode_root(const LevelSource<i64>&, LevelState<i64>&);

}  // namespace stz
