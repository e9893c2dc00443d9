#include "decoder/decode_block.h"

#include <algorithm>
#include <optional>

#include "base/faults.h"
#include "base/stages.h"
#include "coding/checksum.h"
#include "decoder/decode_edge.h"
#include "decoder/decode_masks.h"
#include "masks/scattered_mask.h"
#include "predict/feedback.h"
#include "predict/sweep.h"

namespace stz {

template <class S>
u64 BlockDecoder<S>::size(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k) const {
  return level.directory.sizes[size_t(block.number * level.directory.per_block) + k];
}

// Returns the k-th stream of the block after verifying its check.
template <class S>
const u8* BlockDecoder<S>::stream(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k) {
  const u8* data = block.stream[k];
  const size_t n = size_t(size(level, block, k));
  if (n && level.directory.with_checks) require_check(check_of(data, n), data + n);
  return data;
}

// Opens the k-th stream of the block for codes. Returns false if it is empty.
template <class S>
bool BlockDecoder<S>::open_stream(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t k) {
  const size_t n = size_t(size(level, block, k));
  if (n) coder_.open(stream(level, block, k), n);
  return n != 0;
}

template <class S>
void BlockDecoder<S>::masks(const LevelToDecode<S>& level, const BlockToDecode<S>& block) {
  STZ_STAGE(mask);
  load_block_specials(work_, block.coarse_specials);
  if (const size_t n = size_t(size(level, block, 0))) {
    BinaryDecoder in(stream(level, block, 0), n);
    MaskReader reader = mask_reader(level.header, in, literals);
    const u64 item = block.number / level.directory.per_item;
    code_block_mask(reader, work_.geometry, level_map(level.hierarchy, level.l, item), work_.specials.data(), MaskForm{});
    work_.set_masks();
  }
  if (!level.of_masked) return store_block_bytes(work_.geometry, work_.specials.data(), block.specials);
  const Box& box = work_.geometry.box;
  block_specials_.resize(size_t(box.size[0] * box.size[1] * box.size[2] * box.size[3]));
  store_block_bytes(work_.geometry, work_.specials.data(), GridPart<u8>{block_specials_.data(), box});
}

// Writes the bits of masked samples into the grid, for some planes.
template <class S>
void BlockDecoder<S>::put_masked(const LevelToDecode<S>& level, const BlockToDecode<S>& block, const Planes& planes) {
  if (!level.of_masked || work_.specials.empty()) return;
  STZ_STAGE(mask);
  const Box& box = work_.geometry.box;
  const GridPart<u8> specials{block_specials_.data(), box};
  Index from{}, to = box.size;
  if (planes.axis >= 0) {
    from[size_t(planes.axis)] = planes.from;
    to[size_t(planes.axis)] = planes.to;
  }
  for_rows(from, to, [&](i64 i, i64 j, i64 k) {
    const u8* kinds = specials.at(box.low[0] + i, box.low[1] + j, box.low[2] + k, box.low[3]);
    S* row = block.grid.at(box.low[0] + i, box.low[1] + j, box.low[2] + k, box.low[3]);
    if (any_special(kinds, u64(to[3])))
      put_special_bits<std::make_unsigned_t<CodeOf<S>>>(kinds, u64(to[3]), *level.of_masked, reinterpret_cast<u8*>(row));
  });
}

// Decodes the samples of a task, whose first sample has raster index `first`. `next`: the next wide code to use.
template <class S>
void BlockDecoder<S>::place_bytes(const LevelToDecode<S>& level, int cls, ClassTask<RealOf<S>> task, u32 first, size_t& next) {
  STZ_STAGE(predict);
  if constexpr (std::is_floating_point_v<S>) {
    const ClassCodes<Code>& codes = work_.codes[cls];
    const ClassParameters& p = level.directory.p[cls];
    const IntegerSteps<S> integers = integer_steps(level.quantizer);
    if (level.quantizer.kind == QuantizerKind::integer) task.integers = &integers;
    if (p.feedback.any)
      uniform_kernels<S>().decode_feedback(task, feedback_task(work_, cls, p, level.quantizer), codes.bytes.data() + first);
    else
      uniform_kernels<S>().decode_class(task, codes.bytes.data() + first);
    const i64* n = task.rows.n;
    const u64 end = first + u64(n[0]) * u64(n[1]) * u64(n[2]) * u64(n[3]);
    for (; next < codes.wide_codes.size() && codes.wide_codes[next].index < end; next++) {
      const WideCode& e = codes.wide_codes[next];
      i64 rest = e.index - first;
      const i64 x = rest % n[3], k = (rest /= n[3]) % n[2], j = (rest /= n[2]) % n[1], i = rest / n[1];
      S* sample = task.samples + work_.geometry.values.at(i, j, k) + x;
      S prediction[row_slack] = {*sample};
      if (!p.feedback.any) work_.plan(cls, p).predict(sample, 1, prediction);
      *sample = sample_of_wide_code(level.quantizer, e, prediction[0]);
    }
  }
}

// Decodes all classes of a block whose codes are bytes, and stores the samples in the grid.
template <class S>
void BlockDecoder<S>::place_block(const LevelToDecode<S>& level, const BlockToDecode<S>& block, u32 wanted, int axis) {
  if constexpr (std::is_floating_point_v<S>) {
    const BlockGeometry& g = work_.geometry;
    size_t next[16] = {};
    for (int c = 0; c < g.classes.count; c++)
      if (level.directory.p[g.classes.mask[c]].feedback.any) start_feedback(work_, g.classes.mask[c]);
    sweep(
        work_, level.directory.p, axis, wanted, unused_class(g.classes, level.l),
        [&](int cls, i64 j) {
          const PlaneTask<S> plane = plane_task(work_, cls, level.directory.p[cls], level.quantizer, axis, j);
          place_bytes(level, cls, plane.task, plane.first, next[cls]);
        },
        [&](i64 j) {
          const i64 end = std::min(2 * j + 2, g.box.size[size_t(axis)]);
          store_block(g, work_.values.data(), block.grid, level.streaming, Planes{axis, 2 * j, end}, ends_, level.limits);
          put_masked(level, block, Planes{axis, 2 * j, end});
        });
  }
}

template <class S>
void BlockDecoder<S>::read_numbers(const LevelToDecode<S>& level, int cls, bool coded) {
  const size_t n = size_t(work_.geometry.samples(cls));
  Code* code = work_.numbers(cls);
  if (coded)
    coder_.decode_class(code, context_.data(), n, level.directory.p[cls].model, work_.codes[cls].outliers, 8 * int(sizeof(S)));
  else
    std::fill(code, code + n, Code(0));
}

template <class S>
void BlockDecoder<S>::place_numbers(const LevelToDecode<S>& level, int cls) {
  STZ_STAGE(predict);
  const size_t n = size_t(work_.geometry.samples(cls));
  const Code* code = work_.codes[cls].numbers.data();
  const bool large = code_kernels<Code>().largest(code, int(n)) > (sizeof(S) == 4 ? u64(1) << 21 : u64(1) << 50);
  size_t next = 0;
  const ClassParameters& p = level.directory.p[cls];
  std::optional<FeedbackRows<S>> feedback;
  if (p.feedback.any) feedback.emplace(work_, cls, p, level.quantizer);
  for_predicted_rows(work_, cls, p, [&](S* samples, RealOf<S>* prediction, int count, size_t first, const Index& at) {
    if (feedback) {
      feedback->start(at);
      feedback->take(code + first);
      feedback->add_neighbours();
      feedback->take(code + first);
      for (int x = 0; x < count; x++) prediction[x] += feedback->sums()[x];
    }
    dequantize_row(level.quantizer, code + first, prediction, count, large, work_.codes[cls].outliers, next, samples);
  });
}

// Reads the codes of a class from the open stream, or sets them to zero. Returns true if they are bytes that are still to be decoded; the
// buffer is ready then.
template <class S>
bool BlockDecoder<S>::read_codes(const LevelToDecode<S>& level, int cls, bool open) {
  const ClassParameters& p = level.directory.p[cls];
  const size_t samples = size_t(work_.geometry.samples(cls));
  const bool coded = open && p.mean && samples;
  if (coded) class_contexts(work_, cls, p, context_);
  // Codes that are joined with refinements become numbers later if needed, so the quantizer does not matter here.
  if (!(p.unknown_bits ? p.mean <= largest_byte_mean : uses_byte_indices(level.quantizer, p))) {
    read_numbers(level, cls, coded);
    return false;
  }
  u8* const bytes = work_.bytes(cls);
  if (!coded) memset(bytes, 0, samples);
  return coded;
}

// Decodes the samples of a class from its codes, and fills its halo.
template <class S>
void BlockDecoder<S>::place_class(const LevelToDecode<S>& level, int cls) {
  const ClassParameters& p = level.directory.p[cls];
  if (!work_.codes[cls].as_bytes)
    place_numbers(level, cls);
  else if constexpr (std::is_floating_point_v<S>) {
    size_t next = 0;
    if (p.feedback.any) start_feedback(work_, cls);
    place_bytes(level, cls, class_task(work_, cls, p, level.quantizer), 0, next);
  }
  if (cls != unused_class(work_.geometry.classes, level.l)) complete_class(work_, cls, p);
}

// The axis along which the block is decoded plane by plane, for which all classes must have byte codes; -1: class by class.
template <class S>
int BlockDecoder<S>::axis_to_sweep(const LevelToDecode<S>& level) const {
  const ParityClasses& classes = work_.geometry.classes;
  for (int c = 0; c < classes.count; c++)
    if (!uses_byte_indices(level.quantizer, level.directory.p[classes.mask[c]])) return -1;
  return sweep_axis(work_.geometry);
}

// Decodes class after class: codes, samples (unless they are decoded plane by plane), and activities if anything needs them.
template <class S>
void BlockDecoder<S>::decode_classes(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count,
                                     u32 wanted) {
  const LevelDirectory& d = level.directory;
  const ParityClasses& classes = decoders->work_.geometry.classes;
  const size_t first_stream = size_t(level.header.masked);
  const bool layered = d.unknown_bits != 0;
  for (int b = 0; layered && b < count; b++) start_refined_activities(decoders[b].work_, level.taken);
  bool open[most_together];
  for (int b = 0; b < count; b++) open[b] = d.merged && decoders[b].open_stream(level, blocks[b], first_stream);
  for (int c = 0; c < classes.count; c++) {
    if (!(wanted >> c & 1)) continue;
    const int cls = classes.mask[c];
    CodeStreamDecoder::ByteClass coded[most_together];
    int coded_count = 0;
    for (int b = 0; b < count; b++) {
      BlockDecoder& one = decoders[b];
      if (!d.merged) open[b] = one.open_stream(level, blocks[b], first_stream + size_t(c));
      ClassCodes<Code>& codes = one.work_.codes[cls];
      if (one.read_codes(level, cls, open[b]))
        coded[coded_count++] = {&one.coder_, one.context_.data(), size_t(one.work_.geometry.samples(cls)), codes.bytes.data(),
                                &codes.wide_codes};
    }
    if (coded_count) CodeStreamDecoder::decode_bytes<Code>(coded, coded_count, d.p[cls].model, 8 * int(sizeof(S)));
    for (int b = 0; b < count; b++) {
      BlockDecoder& one = decoders[b];
      if (!d.merged && open[b]) one.coder_.finish();
      if (one.work_.codes[cls].as_bytes)
        STZ_FAULT_POINT_UP_TO(decoded_indices, one.work_.codes[cls].bytes.data(), size_t(one.work_.geometry.samples(cls)), byte_escape - 1);
      if (blocks[b].activities.data || c + 1 < classes.count) class_activities(one.work_, cls, d.p[cls].mean);
    }
    if (layered && blocks->grid.data) refine_codes(level, decoders, blocks, count, size_t(c));
    for (int b = 0; b < count; b++)
      if (blocks[b].grid.data && decoders[b].axis_ < 0) decoders[b].place_class(level, cls);
  }
  for (int b = 0; b < count; b++) {
    if (d.merged && open[b]) decoders[b].coder_.finish();
    if (layered && blocks->grid.data && d.merged) decoders[b].finish_refined(level);
  }
}

// Stores what the finer level needs beyond the samples: final stand-ins of masked samples, and activities.
template <class S>
void BlockDecoder<S>::store_for_finer_level(const BlockToDecode<S>& block) {
  const BlockGeometry& g = work_.geometry;
  if (block.grid.data && block.coarse_specials.data) fill_masked_box<S>(g.box, block.specials, block.grid);
  store_block_bytes(g, work_.activities.data(), block.activities);
}

template <class S>
void BlockDecoder<S>::decode_edges(const LevelToDecode<S>& level, const BlockToDecode<S>& block) {
  const size_t k = size_t(level.header.masked);
  read_edge_block(level.quantizer, stream(level, block, k), size_t(size(level, block, k)), work_, edge_);
  store_block(work_.geometry, work_.values.data(), block.grid, level.streaming, Planes{}, {}, level.limits);
  put_masked(level, block, Planes{});
  if (block.activities.data) store_for_finer_level(block);
}

// Prepares a block for reading its codes.
template <class S>
void BlockDecoder<S>::prepare(const LevelToDecode<S>& level, const BlockToDecode<S>& block) {
  const Level& level_grid = level.hierarchy.level[level.l];
  work_.prepare(level_grid, block_box(level_grid, block.number % level.directory.per_item), level.directory.reach);
  load_coarse_bytes(work_.geometry, block.coarse_activities, work_.activities.data());
  if (block.coarse_specials.data) masks(level, block);
  axis_ = axis_to_sweep(level);
  if (block.grid.data && (axis_ < 0 || level.directory.edge)) load_coarse(work_.geometry, block.coarse, work_.values.data());
}

// Decodes the samples of a block whose codes have been read.
template <class S>
void BlockDecoder<S>::place(const LevelToDecode<S>& level, const BlockToDecode<S>& block, u32 wanted) {
  if (block.grid.data && axis_ >= 0) {
    load_coarse(work_.geometry, block.coarse, work_.values.data());
    place_block(level, block, wanted, axis_);
  } else if (block.grid.data) {
    store_block(work_.geometry, work_.values.data(), block.grid, level.streaming, Planes{}, ends_, level.limits);
    put_masked(level, block, Planes{});
  }
  if (block.activities.data) store_for_finer_level(block);
}

// Lets blocks that are adjacent along the rows write the cache lines between them together. Blocks that together span whole rows also share
// the lines between rows.
template <class S>
void BlockDecoder<S>::share_lines(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count) {
  constexpr i64 samples = LineEnds<S>::samples;
  const Level& grid = level.hierarchy.level[level.l];
  auto box = [&](int b) -> const Box& { return decoders[b].work_.geometry.box; };
  for (int b = 0; b < count; b++) decoders[b].ends_ = {};
  if (!level.shares_lines || !grid.split[3] || grid.n[3] % 2) return;
  for (int first = 0, last; first < count; first = last + 1) {
    const i64 rows = box(first).size[0] * box(first).size[1] * box(first).size[2];
    bool possible = reinterpret_cast<uintptr_t>(blocks[first].grid.data) / sizeof(S) % 2 == 0;
    for (last = first;; last++) {
      possible &= box(last).size[3] >= 2 * samples && box(last).size[3] % 2 == 0;
      if (last + 1 == count || blocks[last + 1].number != blocks[last].number + 1 || box(last + 1).low[3] == 0) break;
    }
    if (!possible) continue;
    Buffer<S>& lines = decoders[first].lines_;
    lines.resize(size_t((last - first + 1) * rows * samples));
    const bool whole_rows = box(first).low[3] == 0 && box(last).low[3] + box(last).size[3] == grid.n[3];
    for (int b = first; b <= last; b++) {
      LineEnds<S>& ends = decoders[b].ends_;
      ends.left_wraps = b == first;
      ends.right_wraps = b == last;
      ends.left_there = b > first || first == last;
      ends.right_there = b == last && first < last;
      if (b > first || whole_rows) ends.left = lines.data() + (b - first) * rows * samples;
      if (b < last)
        ends.right = lines.data() + (b + 1 - first) * rows * samples;
      else if (whole_rows)
        ends.right = lines.data() + samples;  // the line of the next row
    }
  }
}

template <class S>
void BlockDecoder<S>::decode(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count) {
  if (level.directory.edge) {
    for (int b = 0; b < count; b++) {
      decoders[b].prepare(level, blocks[b]);
      decoders[b].decode_edges(level, blocks[b]);
    }
    return;
  }
  const u32 wanted = level.directory.merged ? all_classes : blocks->wanted;
  for (int b = 0; b < count; b++) decoders[b].prepare(level, blocks[b]);
  decode_classes(level, decoders, blocks, count, wanted);
  share_lines(level, decoders, blocks, count);
  for (int b = 0; b < count; b++) {
    // Blocks that are decoded plane by plane share the first one's array, which stays in the caches.
    BlockWork<S>& work = decoders[b].work_;
    const bool shared = b && decoders[b].axis_ >= 0;
    if (shared) {
      std::swap(work.values, decoders->work_.values);
      work.values.resize(size_t(work.geometry.total(work.geometry.values)));
    }
    decoders[b].place(level, blocks[b], wanted);
    if (shared) std::swap(work.values, decoders->work_.values);
  }
}

template void BlockDecoder<float>::decode(const LevelToDecode<float>&, BlockDecoder*, const BlockToDecode<float>*, int);
template void BlockDecoder<double>::decode(const LevelToDecode<double>&, BlockDecoder*, const BlockToDecode<double>*, int);
template void BlockDecoder<i64>::decode(const LevelToDecode<i64>&, BlockDecoder*, const BlockToDecode<i64>*, int);

}  // namespace stz
