#include "decoder/decode_base_section.h"

#include <algorithm>

#include "base/stages.h"
#include "decoder/decode_masks.h"
#include "format/section.h"
#include "predict/base_section.h"

namespace stz {
namespace {

template <class S>
struct BaseReader {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  const Header& header;
  const Hierarchy& hierarchy;
  const std::vector<Quantizer<S>>& quantizers;
  std::vector<LiteralElement>& literals;
  BinaryDecoder in;
  BaseModels models = fresh<BaseModels>;
  MaskModels mask_models = fresh<MaskModels>;
  u64 item = 0;
  size_t level = 0;
  u8 kind_before = 0;
  std::vector<u8> specials{};  // of the previous level

  Code code(std::vector<Outlier>& outliers, u32 index) {
    if (in.bit(models.outlier)) {
      outliers.push_back({index, in.raw(8 * sizeof(S))});
      models.remember(0);
      return outlier_code<Code>;
    }
    i64 c = in.signed_number(models.next());
    require(u64(c < 0 ? -c : c) <= largest_code<Code>, STZ_ERROR_CORRUPT);
    models.remember(zigzag(Code(c)) / 2);
    return Code(c);
  }
  void begin_level(size_t l) { level = l; }
  void coarsest(u64 i, Real p, S& r) {
    u8 kind = 0;
    const Level& grid = hierarchy.level[level];
    if (header.masked) {
      const u64 index = level_zero_index(grid, level_map(hierarchy, level, item), i);
      MaskReader reader = mask_reader(header, in, literals);
      kind = code_special(reader, mask_models.coarsest[kind_before != special_none], mask_models, 0, kind_before, [&] { return index; });
      kind_before = kind;
      specials.resize(grid.samples());
      specials[i] = kind;
    }
    std::vector<Outlier> outliers;
    size_t next = 0;
    const Code c = kind ? Code(0) : code(outliers, 0);
    dequantize_row(quantizers[level], &c, &p, 1, true, outliers, next, &r);
  }
  void masks(BlockWork<S>& work) {
    if (!header.masked) return;
    const Level& l = hierarchy.level[level];
    load_block_specials(work, whole_grid<const u8>(specials.data(), hierarchy.level[level + 1]));
    MaskReader reader = mask_reader(header, in, literals);
    code_mask_regions(reader, mask_models, work.geometry, level_map(hierarchy, level, item), work.specials.data(), false);
    work.set_masks();
    specials.resize(l.samples());
    store_block_bytes(work.geometry, work.specials.data(), whole_grid(specials.data(), l));
  }
  void row(BlockWork<S>& work, int cls, S* samples, const Real* p, int n, size_t index, const Index&) {
    Code* c = work.codes[cls].numbers.data() + index;
    std::vector<Outlier>& outliers = work.codes[cls].outliers;
    const u8* masked = work.mask_or_null(cls) ? work.mask_or_null(cls) + index : nullptr;
    size_t next = outliers.size();
    for (int i = 0; i < n; i++) c[i] = masked && masked[i] ? Code(0) : code(outliers, u32(index) + u32(i));
    dequantize_row(quantizers[level], c, p, n, true, outliers, next, samples);
  }
  void end_level(BlockWork<S>& work, std::vector<S>& grid) {
    const Level& l = hierarchy.level[level];
    if (header.masked) fill_masked_box<S>(work.geometry.box, whole_grid<const u8>(specials.data(), l), whole_grid(grid.data(), l));
  }
};

}  // namespace

template <class S>
DecodedLevel<S> decode_base_section(const Header& header, const Hierarchy& hierarchy, const std::vector<Quantizer<S>>& quantizers,
                                    const u8* section, size_t size, ParameterState& state, std::vector<LiteralElement>& literals) {
  STZ_STAGE(base);
  const size_t coded = size_t(checked_coder_bytes(section, size));
  const u64 samples = hierarchy.level[size_t(hierarchy.base_level)].samples();
  require(samples <= most_decisions(coded) / hierarchy.batch, STZ_ERROR_CORRUPT);  // each sample takes at least one decision
  BaseReader<S> reader{header, hierarchy, quantizers, literals, BinaryDecoder(section, coded)};
  std::vector<CodeOf<S>> codes(samples * hierarchy.batch);
  std::vector<S> grid;
  BlockWork<S> work;
  DecodedLevel<S> base;
  base.samples.resize(samples * hierarchy.batch);
  for (u64 item = 0; item < hierarchy.batch; item++) {
    reader.item = item;
    walk_base_section<S>(hierarchy, work, reader, grid, codes.data() + item * samples);
    std::copy(grid.begin(), grid.end(), base.samples.data() + item * samples);
    if (header.masked) base.specials.insert(base.specials.end(), reader.specials.begin(), reader.specials.end());
  }
  const int mean = base_activities(codes, header.masked ? base.specials.data() : nullptr, base.activities);
  if (mean) state.codes.mean = mean;
  return base;
}

#define STZ_INSTANTIATE(S)                                                                                                           \
  template DecodedLevel<S> decode_base_section(const Header&, const Hierarchy&, const std::vector<Quantizer<S>>&, const u8*, size_t, \
                                               ParameterState&, std::vector<LiteralElement>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
