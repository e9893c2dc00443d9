#include "encode_level.h"

#include "encode_root.h"
#include "fit_level.h"
#include "section.h"

namespace stz {
namespace {

constexpr u64 merge_below = 4096;  // bytes: blocks expected to be smaller get one stream for all classes

// The streams of a level one after the other, without checks, and their sizes in the order of the index.
struct LevelStreams {
  Bytes bytes;
  std::vector<u64> sizes;
  void close(size_t from) { sizes.push_back(bytes.size() - from); }
};

template <class S>
void encode_mask(const LevelSource<S>& source, size_t l, u64 item, BlockWork<S>& work, LevelStreams& streams) {
  const size_t from = streams.bytes.size();
  const ClassList& classes = work.geometry.classes;
  bool any = false;
  for (int c = 0; c < classes.count; c++) any |= work.mask_or_null(classes.mask[c]) != nullptr;
  if (any) {
    BinaryEncoder out;
    MaskModels models;
    auto writer = source.mask_writer(out);
    code_block_mask(writer, models, work.geometry, level_map(source.hierarchy(), l, item), work.kinds.data());
    Bytes bytes = out.finish();
    if (bytes.empty()) bytes.push_back(0);  // an empty stream means that nothing is masked
    streams.bytes.insert(streams.bytes.end(), bytes.begin(), bytes.end());
  }
  streams.close(from);
}

template <class S>
void encode_codes(const ClassParameters* p, bool merged, BlockWork<S>& work, Buffer<u8>& context, CodeStreamEncoder& coder,
                  LevelStreams& streams) {
  const BlockGeometry& g = work.geometry;
  size_t from = streams.bytes.size();
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const size_t n = size_t(g.samples(cls));
    if (p[cls].mean && n) {
      class_contexts(work, cls, p[cls], context);
      const ClassCodes<CodeOf<S>>& codes = work.codes[cls];
      const int width = 8 * int(sizeof(S));
      if (codes.as_bytes)
        coder.add_bytes(codes.bytes.data(), context.data(), n, p[cls].model, codes.exceptions, width);
      else
        coder.add_class(codes.numbers.data(), context.data(), n, p[cls].model, codes.verbatim, width);
    }
    if (merged) continue;
    coder.finish(streams.bytes);
    streams.close(from);
    from = streams.bytes.size();
  }
  if (!merged) return;
  coder.finish(streams.bytes);
  streams.close(from);
}

// Parameters and index, check, streams with theirs: see section.h.
Bytes assemble(const Bytes& parameters, const LevelStreams& streams) {
  Bytes section;
  put_varint(section, parameters.size());
  section.insert(section.end(), parameters.begin(), parameters.end());
  if (streams.bytes.size() <= covered_streams) {
    Bytes checked = section;
    checked.insert(checked.end(), streams.bytes.begin(), streams.bytes.end());
    put_check(section, crc32c(checked.data(), checked.size()), check_size(checked.size()));
    section.insert(section.end(), streams.bytes.begin(), streams.bytes.end());
    return section;
  }
  put_check(section, crc32c(section.data(), section.size()), check_size(section.size()));
  const u8* stream = streams.bytes.data();
  for (u64 size : streams.sizes) {
    if (!size) continue;
    section.insert(section.end(), stream, stream + size);
    put_le<u16>(section, crc16(stream, size_t(size)));
    stream += size;
  }
  return section;
}

// Encodes level l; `state` passes from the coarser level to this one.
template <class S>
Bytes encode_level(const LevelSource<S>& source, LevelState<S>& state, size_t l) {
  const Level& level = source.level(l);
  const ClassList classes = classes_of(level.split_mask());
  FittedLevel<S> fitted = fit_level(source, state, l);
  const ClassParameters* p = fitted.parameters;
  const u64 blocks = block_count(level), all_blocks = blocks * source.batch();
  const bool merged = fitted.bits / 8 < double(merge_below * all_blocks);
  StencilId reach = stencil_standard;
  for (int c = 0; c < classes.count; c++) reach = std::max(reach, StencilId(p[classes.mask[c]].stencil));

  LevelState<S> next;
  if (l > 0) {
    next.grid.resize(level.samples() * source.batch());
    next.magnitudes.resize(next.grid.size());
  }
  LevelStreams streams;
  BlockWork<S> own;
  CodeStreamEncoder coder;
  Buffer<u8> context;
  for (u64 number = 0; number < all_blocks; number++) {
    const u64 item = number / blocks;
    BlockWork<S>* work = fitted.exact ? &fitted.boxes[size_t(number)].work : &own;
    if (!fitted.exact) {
      prepare_box(source, state, l, item, block_box(level, number % blocks), reach, own);
      for (int c = 0; c < classes.count; c++) {
        const int cls = classes.mask[c];
        code_class(source, l, cls, p[cls], keeps_bytes(source.quantizer(l), p[cls].mean), own);
        class_magnitudes(own, cls, p[cls].mean);
      }
    }
    if (source.has_kinds()) encode_mask(source, l, item, *work, streams);
    encode_codes(p, merged, *work, context, coder, streams);
    if (l == 0) continue;
    S* grid = next.grid.data() + item * level.samples();
    store_block(work->geometry, work->values.data(), level.n, grid);
    if (source.has_kinds()) fill_masked_box(work->geometry.box, level.n, source.kinds(l, item), grid);
    store_magnitudes(work->geometry, work->magnitudes.data(), level.n, next.magnitudes.data() + item * level.samples());
  }

  BinaryEncoder parameters;
  ParameterModels models;
  IndexModels index;
  next.parameters = state.parameters;
  parameters.bit(index.merged, merged);
  for (int c = 0; c < classes.count; c++)
    write_class(parameters, models, next.parameters, classes.mask[c], level.active_mask(), max_model_shift(8 * int(sizeof(CodeOf<S>))),
                p[classes.mask[c]]);
  size_t s = 0;
  for (u64 number = 0; number < all_blocks; number++) {
    if (source.has_kinds()) parameters.number(index.mask, streams.sizes[s++]);
    if (merged)
      parameters.number(index.block, streams.sizes[s++]);
    else
      for (int c = 0; c < classes.count; c++) parameters.number(index.stream[c], streams.sizes[s++]);
  }
  state = std::move(next);
  return assemble(parameters.finish(), streams);
}

}  // namespace

template <class S>
Bytes encode_sections(Header& h, const S* samples, const u8* kinds, const std::vector<OtherSample>& others, int threads) {
  (void)threads;
  LevelSource<S> source(h, samples, kinds, others);
  LevelState<S> state;
  Bytes out;
  h.section.clear();
  auto append = [&](const Bytes& section) {
    h.section.push_back(section.size());
    out.insert(out.end(), section.begin(), section.end());
  };
  append(encode_root(source, state));
  for (int l = source.hierarchy().root - 1; l >= 0; l--) append(encode_level(source, state, size_t(l)));
  return out;
}
template Bytes encode_sections(Header&, const float*, const u8*, const std::vector<OtherSample>&, int);
template Bytes encode_sections(Header&, const double*, const u8*, const std::vector<OtherSample>&, int);
template Bytes encode_sections(Header&, const i64*, const u8*, const std::vector<OtherSample>&, int);

}  // namespace stz
