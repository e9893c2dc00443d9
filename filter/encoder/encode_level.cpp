#include "encoder/encode_level.h"

#include "base/parallel.h"
#include "base/stages.h"
#include "encoder/code_stream_encoder.h"
#include "encoder/encode_base_section.h"
#include "encoder/encode_block.h"
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
  const ParityClasses& classes = work.geometry.classes;
  bool any = false;
  for (int c = 0; c < classes.count; c++) any |= work.mask_or_null(classes.mask[c]) != nullptr;
  if (any) {
    BinaryEncoder out;
    MaskModels models;
    auto writer = source.mask_writer(out);
    code_block_mask(writer, models, work.geometry, level_map(source.hierarchy(), l, item), work.specials.data());
    Bytes bytes = out.finish();
    if (bytes.empty()) bytes.push_back(0);  // an empty stream means that nothing is masked
    streams.bytes.insert(streams.bytes.end(), bytes.begin(), bytes.end());
  }
  streams.close(from);
}

// `ready_contexts`: the contexts of each class, or null
template <class S>
void encode_codes(const ClassParameters* p, bool merged, BlockWork<S>& work, const Buffer<u8>* ready_contexts, Buffer<u8>& context_buffer,
                  CodeStreamEncoder& coder, LevelStreams& streams) {
  const BlockGeometry& g = work.geometry;
  size_t from = streams.bytes.size();
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const size_t n = size_t(g.samples(cls));
    if (p[cls].mean && n) {
      if (!ready_contexts) class_contexts(work, cls, p[cls], context_buffer);
      const Buffer<u8>& context = ready_contexts ? ready_contexts[cls] : context_buffer;
      const ClassCodes<CodeOf<S>>& codes = work.codes[cls];
      const int width = 8 * int(sizeof(S));
      if (codes.as_bytes)
        coder.add_bytes(codes.bytes.data(), context.data(), n, p[cls].model, codes.wide_codes, width);
      else
        coder.add_class(codes.numbers.data(), context.data(), n, p[cls].model, codes.outliers, width);
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
  const size_t check_at = section.size();
  put_streams(false);
  const u32 check = crc32c(&section[begin], section.size() - begin);
  Bytes width;
  put_check(width, check, check_size(section.size() - begin));
  section.insert(section.begin() + std::ptrdiff_t(check_at), width.begin(), width.end());
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
  const ParityClasses classes = parity_classes_of(level.split_mask());
  FittedLevel<S> fitted = fit_level(source, state, l, threads);
  const ClassParameters* p = fitted.parameters;
  const u64 blocks = block_count(level), all_blocks = blocks * source.batch();
  const bool merged = fitted.bits / 8 < double(merge_below * all_blocks);
  StencilId reach = stencil_standard;
  for (int c = 0; c < classes.count; c++) reach = std::max(reach, StencilId(p[classes.mask[c]].stencil));

  LevelState<S> next;
  if (l > 0) {
    next.grid = source.take_samples(l);  // a block is read for the last time before it is written
    next.activities.resize(next.grid.size());
  }
  auto encode_block = [&](BlockEncoder<S>& encoder, u64 number, LevelStreams& streams) {
    const u64 item = number / blocks;
    BlockWork<S>& work = fitted.exact ? fitted.boxes[size_t(number)].work : encoder.work;
    const Buffer<u8>* ready_contexts = fitted.exact ? fitted.boxes[size_t(number)].context : nullptr;
    if (!fitted.exact) {
      prepare_box(source, state, l, item, block_box(level, number % blocks), reach, work, false);
      code_block(source, l, item, p, work);
    }
    if (source.has_specials()) encode_mask(source, l, item, work, streams);
    encode_codes(p, merged, work, ready_contexts, encoder.context, encoder.coder, streams);
    if (l == 0) return;
    const GridPart<S> grid = whole_grid(next.grid.data() + item * level.samples(), level);
    store_block(work.geometry, work.values.data(), grid);
    if (source.has_specials()) fill_masked_box(work.geometry.box, source.specials(l, item), grid);
    store_block_bytes(work.geometry, work.activities.data(), whole_grid(next.activities.data() + item * level.samples(), level));
  };
  const u64 blocks_per_task = items_per_task(level.samples() / blocks);
  std::vector<LevelStreams> pieces((all_blocks + blocks_per_task - 1) / blocks_per_task);
  parallel_for<BlockEncoder<S>>(pieces.size(), threads, [&](BlockEncoder<S>& encoder, u64 task) {
    for (u64 number = task * blocks_per_task; number < std::min(all_blocks, (task + 1) * blocks_per_task); number++)
      encode_block(encoder, number, pieces[size_t(task)]);
  });

  BinaryEncoder parameters;
  ParameterModels models;
  IndexModels index;
  next.parameters = state.parameters;
  parameters.bit(index.merged, merged);
  for (int c = 0; c < classes.count; c++)
    write_class(parameters, models, next.parameters, classes.mask[c], level.active_mask(), max_model_shift(8 * int(sizeof(CodeOf<S>))),
                p[classes.mask[c]]);
  const size_t per_block = size_t(source.has_specials()) + (merged ? 1 : size_t(classes.count));
  for (const LevelStreams& piece : pieces)
    for (size_t s = 0; s < piece.sizes.size(); s++) {
      const size_t k = s % per_block;
      if (source.has_specials() && k == 0)
        parameters.number(index.mask, piece.sizes[s]);
      else if (merged)
        parameters.number(index.block, piece.sizes[s]);
      else
        parameters.number(index.stream[k - size_t(source.has_specials())], piece.sizes[s]);
    }
  state = std::move(next);
  STZ_STAGE(assemble);
  const size_t begin = out.size();
  assemble(parameters.finish(), pieces, out);
  return all_blocks * per_block <= most_index_sizes(out.size() - begin);
}

}  // namespace

template <class S>
Bytes encode_sections(Header& h, const S* samples, const u8* specials, const std::vector<LiteralElement>& literals, int threads) {
  LevelSource<S> source(h, samples, specials, literals, threads);
  LevelState<S> state;
  Bytes out = encode_base_section(source, state);
  h.section.assign(1, out.size());
  for (int l = source.hierarchy().base_level - 1; l >= 0; l--) {
    const size_t begin = out.size();
    if (!encode_level(source, state, size_t(l), threads, out)) return {};
    h.section.push_back(out.size() - begin);
  }
  return out;
}
template Bytes encode_sections(Header&, const float*, const u8*, const std::vector<LiteralElement>&, int);
template Bytes encode_sections(Header&, const double*, const u8*, const std::vector<LiteralElement>&, int);
template Bytes encode_sections(Header&, const i64*, const u8*, const std::vector<LiteralElement>&, int);

}  // namespace stz
