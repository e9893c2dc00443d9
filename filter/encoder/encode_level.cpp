#include "encoder/encode_level.h"

#include "base/parallel.h"
#include "base/stages.h"
#include "encoder/code_stream_encoder.h"
#include "encoder/encode_block.h"
#include "encoder/encode_root.h"
#include "encoder/fit_level.h"
#include "format/section.h"

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

// `known`: the contexts of each class, or null
template <class S>
void encode_codes(const ClassParameters* p, bool merged, BlockWork<S>& work, const Buffer<u8>* known, Buffer<u8>& own_context,
                  CodeStreamEncoder& coder, LevelStreams& streams) {
  const BlockGeometry& g = work.geometry;
  size_t from = streams.bytes.size();
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const size_t n = size_t(g.samples(cls));
    if (p[cls].mean && n) {
      if (!known) class_contexts(work, cls, p[cls], own_context);
      const Buffer<u8>& context = known ? known[cls] : own_context;
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

// Appends a section: parameters and index, check, streams with theirs; see section.h.
void assemble(const Bytes& parameters, const std::vector<LevelStreams>& pieces, Bytes& section) {
  const size_t begin = section.size();
  size_t total = 0, streams = 0;
  for (const LevelStreams& piece : pieces) {
    total += piece.bytes.size();
    for (u64 size : piece.sizes) streams += size != 0;
  }
  const size_t needed = begin + parameters.size() + total + 2 * streams + 1024;  // with room for the header, which comes last
  if (needed > section.capacity()) section.reserve(std::max(needed, 2 * begin));
  put_varint(section, parameters.size());
  section.insert(section.end(), parameters.begin(), parameters.end());
  auto put_streams = [&](bool with_checks) {
    for (const LevelStreams& piece : pieces) {
      const u8* stream = piece.bytes.data();
      for (u64 size : piece.sizes) {
        if (!size) continue;
        section.insert(section.end(), stream, stream + size);
        if (with_checks) put_le<u16>(section, crc16(stream, size_t(size)));
        stream += size;
      }
    }
  };
  if (total > covered_streams) {
    put_check(section, crc32c(&section[begin], section.size() - begin), check_size(section.size() - begin));
    put_streams(true);
    return;
  }
  const size_t own = section.size();
  put_streams(false);
  const u32 check = crc32c(&section[begin], section.size() - begin);
  Bytes width;
  put_check(width, check, check_size(section.size() - begin));
  section.insert(section.begin() + std::ptrdiff_t(own), width.begin(), width.end());
}

// One thread's room to encode blocks.
template <class S>
struct BlockEncoder {
  BlockWork<S> work;
  CodeStreamEncoder coder;
  Buffer<u8> context;
};

// Encodes level l and appends its section to `out`; `state` passes from the coarser level to this one. False if the index has more sizes
// than a decoder accepts.
template <class S>
bool encode_level(LevelSource<S>& source, LevelState<S>& state, size_t l, int threads, Bytes& out) {
  const Level& level = source.level(l);
  const ClassList classes = classes_of(level.split_mask());
  FittedLevel<S> fitted = fit_level(source, state, l, threads);
  const ClassParameters* p = fitted.parameters;
  const u64 blocks = block_count(level), all_blocks = blocks * source.batch();
  const bool merged = fitted.bits / 8 < double(merge_below * all_blocks);
  StencilId reach = stencil_standard;
  for (int c = 0; c < classes.count; c++) reach = std::max(reach, StencilId(p[classes.mask[c]].stencil));

  LevelState<S> next;
  if (l > 0) {
    next.grid = source.take_samples(l);  // a block is read for the last time before it is written
    next.magnitudes.resize(next.grid.size());
  }
  auto encode_block = [&](BlockEncoder<S>& own, u64 number, LevelStreams& streams) {
    const u64 item = number / blocks;
    BlockWork<S>& work = fitted.exact ? fitted.boxes[size_t(number)].work : own.work;
    const Buffer<u8>* known = fitted.exact ? fitted.boxes[size_t(number)].context : nullptr;
    if (!fitted.exact) {
      prepare_box(source, state, l, item, block_box(level, number % blocks), reach, work, false);
      code_block(source, l, item, p, work);
    }
    if (source.has_kinds()) encode_mask(source, l, item, work, streams);
    encode_codes(p, merged, work, known, own.context, own.coder, streams);
    if (l == 0) return;
    const GridPart<S> grid = whole_grid(next.grid.data() + item * level.samples(), level);
    store_block(work.geometry, work.values.data(), grid);
    if (source.has_kinds()) fill_masked_box(work.geometry.box, source.kinds(l, item), grid);
    store_magnitudes(work.geometry, work.magnitudes.data(), whole_grid(next.magnitudes.data() + item * level.samples(), level));
  };
  const u64 together = items_per_task(level.samples() / blocks);
  std::vector<LevelStreams> pieces((all_blocks + together - 1) / together);
  parallel_for<BlockEncoder<S>>(pieces.size(), threads, [&](BlockEncoder<S>& own, u64 task) {
    for (u64 number = task * together; number < std::min(all_blocks, (task + 1) * together); number++)
      encode_block(own, number, pieces[size_t(task)]);
  });

  BinaryEncoder parameters;
  ParameterModels models;
  IndexModels index;
  next.parameters = state.parameters;
  parameters.bit(index.merged, merged);
  for (int c = 0; c < classes.count; c++)
    write_class(parameters, models, next.parameters, classes.mask[c], level.active_mask(), max_model_shift(8 * int(sizeof(CodeOf<S>))),
                p[classes.mask[c]]);
  const size_t per_block = size_t(source.has_kinds()) + (merged ? 1 : size_t(classes.count));
  for (const LevelStreams& piece : pieces)
    for (size_t s = 0; s < piece.sizes.size(); s++) {
      const size_t k = s % per_block;
      if (source.has_kinds() && k == 0)
        parameters.number(index.mask, piece.sizes[s]);
      else if (merged)
        parameters.number(index.block, piece.sizes[s]);
      else
        parameters.number(index.stream[k - size_t(source.has_kinds())], piece.sizes[s]);
    }
  state = std::move(next);
  STZ_STAGE(assemble);
  const size_t begin = out.size();
  assemble(parameters.finish(), pieces, out);
  return all_blocks * per_block <= most_index_sizes(out.size() - begin);
}

}  // namespace

template <class S>
Bytes encode_sections(Header& h, const S* samples, const u8* kinds, const std::vector<OtherSample>& others, int threads) {
  LevelSource<S> source(h, samples, kinds, others, threads);
  LevelState<S> state;
  Bytes out = encode_root(source, state);
  h.section.assign(1, out.size());
  for (int l = source.hierarchy().root - 1; l >= 0; l--) {
    const size_t begin = out.size();
    if (!encode_level(source, state, size_t(l), threads, out)) return {};
    h.section.push_back(out.size() - begin);
  }
  return out;
}
template Bytes encode_sections(Header&, const float*, const u8*, const std::vector<OtherSample>&, int);
template Bytes encode_sections(Header&, const double*, const u8*, const std::vector<OtherSample>&, int);
template Bytes encode_sections(Header&, const i64*, const u8*, const std::vector<OtherSample>&, int);

}  // namespace stz
