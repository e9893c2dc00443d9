#include "decode_block.h"

#include <algorithm>

#include "checksum.h"
#include "decode_masks.h"

namespace stz {

template <class S>
const u8* BlockDecoder<S>::stream(const LevelToDecode<S>& level, const u8*& at, u64 size) {
  const u8* data = at;
  at += size;
  if (size && level.with_checks) {
    require(load_le<u16>(at) == crc16(data, size_t(size)), STZ_ERROR_CHECKSUM);
    at += 2;
  }
  return data;
}

template <class S>
void BlockDecoder<S>::masks(const LevelToDecode<S>& level, u64 item, const u8* data, size_t size) {
  const Level &own = level.hierarchy.level[level.l], &coarser = level.hierarchy.level[level.l + 1];
  load_block_kinds(work_, level.coarse_kinds + item * coarser.samples(), coarser.n);
  if (size) {
    BinaryDecoder in(data, size);
    MaskReader reader{in, others, mask_bits(level.header)};
    MaskModels models;
    code_block_mask(reader, models, work_.geometry, level_map(level.hierarchy, level.l, item), work_.kinds.data());
    work_.set_masks();
  }
  store_magnitudes(work_.geometry, work_.kinds.data(), own.n, level.kinds + item * own.samples());
}

// Codes, if there are any but zeros, and samples of a class.
template <class S>
void BlockDecoder<S>::codes_as_bytes(const LevelToDecode<S>& level, int cls, bool coded) {
  if constexpr (S(0.5) != S(0)) {
    const ClassParameters& p = level.p[cls];
    const size_t samples = size_t(work_.geometry.samples(cls));
    u8* bytes = work_.bytes(cls);
    std::vector<Exception>& exceptions = work_.codes[cls].exceptions;
    if (coded)
      coder_.template decode_bytes<Code>(bytes, context_.data(), samples, p.model, exceptions, 8 * int(sizeof(S)));
    else
      memset(bytes, 0, samples);
    uniform_kernels<S>().decode_class(class_task(work_, cls, p, level.quantizer), bytes);
    const Index n = work_.geometry.counts(cls);
    for (const Exception& e : exceptions) {
      i64 rest = e.index;
      const i64 x = rest % n[3], k = (rest /= n[3]) % n[2], j = (rest /= n[2]) % n[1], i = rest / n[1];
      S* sample = work_.first(cls) + work_.geometry.values.at(i, j, k) + x;
      S prediction[row_slack];
      work_.plan(cls, p).predict(sample, 1, prediction);
      *sample = exceptional_sample(level.quantizer, e, prediction[0]);
    }
  }
}

template <class S>
void BlockDecoder<S>::codes_as_numbers(const LevelToDecode<S>& level, int cls, bool coded) {
  const ClassParameters& p = level.p[cls];
  const size_t n = size_t(work_.geometry.samples(cls));
  Code* code = work_.numbers(cls);
  std::vector<Verbatim>& verbatim = work_.codes[cls].verbatim;
  bool large = false;
  if (coded) {
    coder_.decode_class(code, context_.data(), n, p.model, verbatim, 8 * int(sizeof(S)));
    large = code_kernels<Code>().largest(code, int(n)) > (sizeof(S) == 4 ? u64(1) << 21 : u64(1) << 50);
  } else
    std::fill(code, code + n, Code(0));
  size_t next = 0;
  for_predicted_rows(work_, cls, p, [&](S* samples, const RealOf<S>* prediction, int count, size_t at, const Index&) {
    dequantize_row(level.quantizer, code + at, prediction, count, large, verbatim, next, samples);
  });
}

template <class S>
void BlockDecoder<S>::decode(const LevelToDecode<S>& level, u64 number) {
  const Level &own = level.hierarchy.level[level.l], &coarser = level.hierarchy.level[level.l + 1];
  const u64 item = number / level.per_item;
  const u64* size = level.sizes.data() + number * level.per_block;
  const u8* at = level.streams + level.offsets[number];
  work_.prepare(own, block_box(own, number % level.per_item), level.reach);
  const BlockGeometry& g = work_.geometry;
  load_coarse(g, level.coarse + item * coarser.samples(), coarser.n, work_.values.data());
  load_coarse_magnitudes(g, level.coarse_magnitudes + item * coarser.samples(), coarser.n, work_.magnitudes.data());
  if (level.coarse_kinds) {
    const u8* data = stream(level, at, *size);
    masks(level, item, data, size_t(*size++));
  }
  bool open = false;
  auto open_next = [&] {
    const u8* data = stream(level, at, *size);
    open = *size != 0;
    if (open) coder_.open(data, size_t(*size));
    size++;
  };
  if (level.merged) open_next();
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const ClassParameters& p = level.p[cls];
    if (!level.merged) open_next();
    const bool coded = open && p.mean && g.samples(cls);
    if (coded) class_contexts(work_, cls, p, context_);
    if (keeps_bytes(level.quantizer, p.mean))
      codes_as_bytes(level, cls, coded);
    else
      codes_as_numbers(level, cls, coded);
    if (!level.merged && open) coder_.finish();
    complete_class(work_, cls, p);
    if (level.magnitudes || c + 1 < g.classes.count) class_magnitudes(work_, cls, p.mean);
  }
  if (level.merged && open) coder_.finish();
  S* grid = level.grid + item * own.samples();
  store_block(g, work_.values.data(), own.n, grid, level.streaming);
  if (!level.magnitudes) return;
  if (level.coarse_kinds) fill_masked_box(g.box, own.n, level.kinds + item * own.samples(), grid);
  store_magnitudes(g, work_.magnitudes.data(), own.n, level.magnitudes + item * own.samples());
}

template class BlockDecoder<float>;
template class BlockDecoder<double>;
template class BlockDecoder<i64>;

}  // namespace stz
