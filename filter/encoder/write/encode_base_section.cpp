#include "encoder/write/encode_base_section.h"

#include "base/faults.h"
#include "base/stages.h"
#include "format/section.h"
#include "predict/base_section.h"

namespace stz {
namespace {

template <class S>
struct BaseWriter {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  const LevelSource<S>& source;
  BinaryEncoder out;
  BaseModels models = fresh<BaseModels>;
  MaskModels mask_models = fresh<MaskModels>;
  u64 item = 0;
  size_t level = 0;
  u8 kind_before = 0;

  void begin_level(size_t l) { level = l; }

  void coarsest(u64 i, Real p, S& r) {
    u8 kind = special_none;
    if (source.has_specials()) {
      kind = source.specials(level, item).data[i];
      auto writer = source.mask_writer(out);
      const u64 index = level_zero_index(source.level(level), level_map(source.hierarchy(), level, item), i);
      code_special(writer, mask_models.coarsest[kind_before != special_none], mask_models, kind, kind_before, [&] { return index; });
      kind_before = kind;
    }
    const u8 masked = kind != special_none;
    std::vector<Outlier> outliers;
    size_t next = 0;
    Code c;
    quantize_row(source.quantizer(level), source.samples(level, item).data + i, 1, &p, 1, &masked, 0, &c, &r, outliers);
    if (!masked) code(c, outliers, next);
  }

  void masks(BlockWork<S>& work) {
    if (!source.has_specials()) return;
    source.load_specials(work, level, item);
    auto writer = source.mask_writer(out);
    code_mask_regions(writer, mask_models, work.geometry, level_map(source.hierarchy(), level, item), work.specials.data(), false);
    work.set_masks();
  }

  void row(BlockWork<S>& work, int cls, S* samples, const Real* p, int n, size_t index, const Index& at) {
    const S* x = source.row(source.samples(level, item), work.geometry, cls, at);
    Code* c = work.codes[cls].numbers.data() + index;
    std::vector<Outlier>& outliers = work.codes[cls].outliers;
    const u8* masked = work.mask_or_null(cls) ? work.mask_or_null(cls) + index : nullptr;
    size_t next = outliers.size();
    quantize_row(source.quantizer(level), x, source.row_stride(level), p, n, masked, u32(index), c, samples, outliers);
    for (int i = 0; i < n; i++)
      if (!masked || !masked[i]) code(c[i], outliers, next);
  }

  void end_level(BlockWork<S>& work, std::vector<S>& grid) {
    if (source.has_specials())
      fill_masked_box(work.geometry.box, source.specials(level, item), whole_grid(grid.data(), source.level(level)));
  }

 private:
  void code(Code c, const std::vector<Outlier>& outliers, size_t& next) {
    const bool stored = c == outlier_code<Code>;
    out.bit(models.outlier, stored);
    if (stored)
      out.raw(outliers[next++].bits, 8 * sizeof(S));
    else
      out.signed_number(models.next(), c);
    models.remember(stored ? 0 : zigzag(c) / 2);
  }
};

}  // namespace

template <class S>
Bytes encode_base_section(const LevelSource<S>& source, LevelState<S>& state) {
  STZ_STAGE(base);
  const Hierarchy& h = source.hierarchy();
  const u64 samples = h.level[size_t(h.base_level)].samples();
  BaseWriter<S> writer{source, {}};
  std::vector<CodeOf<S>> codes(samples * h.batch);
  std::vector<S> grid;
  BlockWork<S> work;
  state.grid.resize(samples * h.batch);
  for (u64 item = 0; item < h.batch; item++) {
    writer.item = item;
    walk_base_section<S>(h, work, writer, grid, codes.data() + item * samples);
    std::copy(grid.begin(), grid.end(), state.grid.data() + item * samples);
  }
  const int mean =
      base_activities(codes, source.has_specials() ? source.specials(size_t(h.base_level), 0).data : nullptr, state.activities);
  if (mean) state.parameters.codes.mean = mean;
  Bytes out = writer.out.finish();
  STZ_FAULT_POINT(base_section, out.data(), out.size());
  put_check(out, check_of(out.data(), out.size()));
  return out;
}

template Bytes encode_base_section(const LevelSource<float>&, LevelState<float>&);
template Bytes encode_base_section(const LevelSource<double>&, LevelState<double>&);
template Bytes encode_base_section(const LevelSource<i64>&, LevelState<i64>&);

}  // namespace stz
