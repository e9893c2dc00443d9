#include "encoder/write/encode_level.h"

#include <algorithm>

#include "base/faults.h"
#include "base/parallel.h"
#include "base/stages.h"
#include "encoder/block/encode_block.h"
#include "encoder/write/block_check.h"
#include "encoder/write/choose_mask_form.h"
#include "encoder/write/code_collector.h"
#include "encoder/write/encode_edge.h"
#include "encoder/write/level_streams.h"
#include "format/section.h"

namespace stz {
namespace {

constexpr i64 samples_in_cache = 4096;
constexpr u64 merge_below = 4096;  // bytes: blocks expected to be smaller get one stream for all classes
// Levels of at most so many blocks too: decoders would have few lanes for a stream of each class. Not with STZ_BLOCK_REGION, as reads of
// slices skip the streams of classes.
constexpr u64 few_blocks = 2;

template <class S>
void encode_mask(const LevelSource<S>& source, size_t l, u64 item, BlockWork<S>& work, LevelStreams& streams) {
  const size_t from = streams.bytes.size();
  const ParityClasses& classes = work.geometry.classes;
  bool any = false;
  for (int c = 0; c < classes.count; c++) any |= work.mask_or_null(classes.mask[c]) != nullptr;
  if (any) {
    BinaryEncoder out;
    auto writer = source.mask_writer(out);
    code_block_mask(writer, work.geometry, level_map(source.hierarchy(), l, item), work.specials.data(),
                    choose_mask_form(work.geometry, work.specials.data()));
    Bytes bytes = out.finish();
    if (bytes.empty()) bytes.push_back(0);  // an empty stream would mean that nothing is masked
    streams.bytes.insert(streams.bytes.end(), bytes.begin(), bytes.end());
  }
  streams.close(from);
}

// Encodes the blocks of level l with fitted parameters.
template <class S>
class LevelEncoder {
 public:
  // `edge`: use edge mode. `checks`: level 0: receives the CRC of each block; may be null.
  LevelEncoder(LevelSource<S>& source, const LevelState<S>& coarser, size_t l, bool edge, u32* checks, int threads)
      : source_(source),
        coarser_(coarser),
        l_(l),
        level_(source.level(l)),
        classes_(parity_classes_of(level_.split_mask())),
        fitted_(edge ? FittedLevel<S>{} : fit_level(source, coarser, l, threads)),
        blocks_(block_count(level_)),
        arrangement_(arrangement(edge)),
        checks_(checks) {
    for (int c = 0; c < classes_.count; c++) reach_ = std::max(reach_, StencilId(fitted_.parameters[classes_.mask[c]].stencil));
    for (int c = 0; c < classes_.count; c++) pass_fault_points(fitted_.parameters[classes_.mask[c]]);
  }

  // Encodes the streams of all blocks; returns them in order, in pieces. `refined`: the same for each refinement. `finer`: receives
  // reconstruction and activities if a finer level needs them.
  std::vector<LevelStreams> streams(LevelState<S>& finer, std::vector<std::vector<LevelStreams>>& refined, int threads) {
    if (l_ > 0) {
      finer.grid = source_.take_samples(l_);  // each block reads its samples before it overwrites them
      finer.activities.resize(finer.grid.size());
    }
    // With one stream per block, several blocks are encoded at the same time.
    const u64 together = arrangement_ == merged_streams ? std::clamp<u64>(all_blocks() / u64(std::max(threads, 1)), 1, 8) : 1;
    const u64 blocks_per_task = std::max(items_per_task(level_.samples() / blocks_), together);
    std::vector<LevelStreams> pieces((all_blocks() + blocks_per_task - 1) / blocks_per_task);
    refined.assign(fitted_.refinements.size(), std::vector<LevelStreams>(pieces.size()));
    parallel_for<Workspace>(pieces.size(), threads, [&](Workspace& workspace, u64 task) {
      workspace.codes.start(fitted_.parameters, fitted_.refinements, arrangement_ == merged_streams, is_alone());
      workspace.refined.assign(refined.size(), nullptr);
      for (size_t r = 0; r < refined.size(); r++) workspace.refined[r] = &refined[r][size_t(task)];
      for (u64 number = task * blocks_per_task; number < std::min(all_blocks(), (task + 1) * blocks_per_task); number++) {
        const BlockWork<S>& work = encode_block(number, workspace, pieces[size_t(task)]);
        if (l_ > 0) store(number / blocks_, work, finer);
        if (checks_) checks_[number] = workspace.check.take();
      }
      write_waiting(workspace, pieces[size_t(task)]);
    });
    if (checks_) STZ_FAULT_POINT(content_checks, checks_, size_t(all_blocks()) * sizeof(u32));
    return pieces;
  }

  // Writes parameters and index of the section. `state` is advanced from the coarser level's parameters to these.
  Bytes write_head(const std::vector<LevelStreams>& pieces, ParameterState& state) const {
    STZ_STAGE(head);
    BinaryEncoder out;
    ParameterModels models = fresh<ParameterModels>;
    IndexModels index = fresh<IndexModels>;
    out.number(index.arrangement, arrangement_);
    for (int c = 0; c < classes_.count && arrangement_ != edge_streams; c++) {
      const int cls = classes_.mask[c];
      write_class(out, models, state, cls, source_.parameter_context(l_), fitted_.parameters[cls]);
    }
    const size_t per_block = streams_per_block(), masks = source_.has_specials();
    for (const LevelStreams& piece : pieces)
      for (size_t s = 0; s < piece.sizes.size(); s++) {
        const size_t k = s % per_block;  // stream number in its block
        auto& model = k < masks ? index.mask : arrangement_ != stream_per_class ? index.block : index.stream[k - masks];
        out.number(model, piece.sizes[s]);
      }
    return out.finish();
  }

  // The same for the section of a refinement.
  Bytes write_refined_head(size_t r, const std::vector<LevelStreams>& pieces, RefinedCodeState& state) const {
    BinaryEncoder out;
    IndexModels index = fresh<IndexModels>;
    const FittedRefinement& refinement = fitted_.refinements[r];
    for (int c = 0; c < classes_.count; c++) {
      const int cls = classes_.mask[c];
      write_refined_class(out, state, source_.parameter_context(l_), refinement.added_to(fitted_.parameters[cls]),
                          refinement.parameters[cls]);
    }
    const size_t per_block = streams_per_block() - size_t(source_.has_specials());
    for (const LevelStreams& piece : pieces)
      for (size_t s = 0; s < piece.sizes.size(); s++)
        out.number(arrangement_ == merged_streams ? index.block : index.stream[s % per_block], piece.sizes[s]);
    return out.finish();
  }
  bool has_refinement(size_t r) const { return fitted_.refinements[r].any(); }

  // Gives the predictions of this level.
  void teach(LearnedLevel& learned) const {
    learned.active_mask = level_.active_mask();
    learned.split_mask = level_.split_mask();
    for (int c = 0; c < classes_.count; c++) {
      const int cls = classes_.mask[c];
      learned.of_class[cls] = {fitted_.parameters[cls], fitted_.as_bytes[cls]};
    }
  }

  u64 stream_count() const { return all_blocks() * streams_per_block(); }

 private:
  // Only values that later stages do not use as indices, or with limits that their tables allow.
  static void pass_fault_points([[maybe_unused]] ClassParameters& p) {
    STZ_FAULT_POINT(weights, p.weight, sizeof p.weight);
    for ([[maybe_unused]] auto& parity : p.feedback.before)
      for ([[maybe_unused]] i16& weight : parity) STZ_FAULT_POINT_UP_TO(feedback, &weight, p.feedback.any, FeedbackParameters::largest);
    STZ_FAULT_POINT_UP_TO(means, &p.mean, 1, 127);
    for ([[maybe_unused]] Model& m : p.model) STZ_FAULT_POINT_UP_TO(models, &m.scale, !m.run_length, unshifted_scales - 1);
  }

  // State of one thread, reused from block to block.
  struct Workspace {
    ContentCheck<S> check;
    Buffer<S> planes;
    BlockWork<S> work;
    CodeCollector<S> codes;
    int waiting = 0;  // number of streams waiting to be encoded at the same time
    std::vector<LevelStreams*> refined;
    EdgeWork<S> edge;
  };

  u64 all_blocks() const { return blocks_ * source_.batch(); }
  bool is_alone() const { return all_blocks() <= few_blocks && source_.header().block != STZ_BLOCK_REGION; }
  Arrangement arrangement(bool edge) const {
    if (edge) return edge_streams;
    const bool merged = is_alone() || fitted_.bits / 8 < double(merge_below * all_blocks());
    return merged ? merged_streams : stream_per_class;
  }
  size_t streams_per_block() const {
    return size_t(source_.has_specials()) + (arrangement_ != stream_per_class ? 1 : size_t(classes_.count));
  }

  // Encodes a block. Returns it with its reconstruction.
  const BlockWork<S>& encode_block(u64 number, Workspace& workspace, LevelStreams& streams) {
    if (arrangement_ == edge_streams) return encode_edge_block(number, workspace, streams);
    const u64 item = number / blocks_;
    const ClassParameters* p = fitted_.parameters;
    BlockWork<S>& work = fitted_.exact ? fitted_.boxes[size_t(number)].work : workspace.work;
    if (!fitted_.exact) {
      const BoxSource<S> from = whole_item(source_, coarser_, l_, item);
      prepare_box(source_, from, l_, item, block_box(level_, number % blocks_), reach_, work, false);
      const auto check = [&](const Planes& planes) { add_to_check(item, work, planes, workspace); };
      const PlanesDone done(check);
      code_block(source_, from.samples, l_, p, work, checks_ ? &done : nullptr);
    } else if (checks_) {
      add_to_check(item, work, Planes{}, workspace);
    }
    if (source_.has_specials()) encode_mask(source_, l_, item, work, streams);
    const bool merged = arrangement_ == merged_streams;
    workspace.codes.collect(workspace.waiting, work, fitted_.exact ? &fitted_.boxes[size_t(number)] : nullptr);
    workspace.waiting += merged ? 1 : classes_.count;
    // Mask streams are stored between those of blocks, so blocks with masks cannot wait.
    if (source_.has_specials() || workspace.waiting + (merged ? 1 : classes_.count) > CodeStreamEncoder::most)
      write_waiting(workspace, streams);
    return work;
  }

  void write_waiting(Workspace& workspace, LevelStreams& streams) const {
    if (!workspace.waiting) return;
    write_codes(workspace.codes.of_section(), workspace.waiting, streams);
    for (size_t r = 0; r < fitted_.refinements.size(); r++)
      if (has_refinement(r)) write_codes(workspace.codes.of_refinement(r), workspace.waiting, *workspace.refined[r]);
    workspace.waiting = 0;
  }

  const BlockWork<S>& encode_edge_block(u64 number, Workspace& workspace, LevelStreams& streams) {
    const u64 item = number / blocks_;
    BlockWork<S>& work = workspace.work;
    prepare_box(source_, whole_item(source_, coarser_, l_, item), l_, item, block_box(level_, number % blocks_), reach_, work);
    const Bytes stream = write_edge_block(source_.quantizer(l_), work, workspace.edge);
    STZ_FAULT_POINT(edge_stream, stream.data(), stream.size());
    if (checks_) add_to_check(item, work, Planes{}, workspace);
    if (source_.has_specials()) encode_mask(source_, l_, item, work, streams);
    const size_t from = streams.bytes.size();
    streams.bytes.insert(streams.bytes.end(), stream.begin(), stream.end());
    streams.close(from);
    return work;
  }

  // Adds reconstructed planes of the block to the check in raster order, in pieces that stay in the first-level cache.
  void add_to_check(u64 item, const BlockWork<S>& work, const Planes& planes, Workspace& workspace) const {
    STZ_STAGE(check);
    const Box& box = work.geometry.box;
    const int axis = planes.axis >= 0 ? planes.axis : box.size[0] > 1 ? 0 : 1;
    const i64 extent = box.size[size_t(axis)], plane = box.size[0] * box.size[1] * box.size[2] * box.size[3] / extent;
    const i64 first = planes.axis >= 0 ? planes.from : 0, end = planes.axis >= 0 ? planes.to : extent;
    const i64 step = std::max<i64>(1, samples_in_cache / plane);
    workspace.planes.resize(size_t(std::min(step, extent) * plane));
    for (i64 from = first; from < end; from += step) {
      const i64 to = std::min(end, from + step);
      Box part = box;
      part.low[size_t(axis)] += from;
      part.size[size_t(axis)] = to - from;
      gather_planes(work.geometry, work.values.data(), Planes{axis, from, to}, workspace.planes.data());
      check_samples<S>(source_, item, {workspace.planes.data(), part}, workspace.check);
    }
  }

  void store(u64 item, const BlockWork<S>& work, LevelState<S>& finer) const {
    const u64 first = item * level_.samples();
    const GridPart<S> grid = whole_grid(finer.grid.data() + first, level_);
    store_block(work.geometry, work.values.data(), grid);
    if (source_.has_specials()) fill_masked_box(work.geometry.box, source_.specials(l_, item), grid);
    store_block_bytes(work.geometry, work.activities.data(), whole_grid(finer.activities.data() + first, level_));
  }

  LevelSource<S>& source_;
  const LevelState<S>& coarser_;
  const size_t l_;
  const Level& level_;
  const ParityClasses classes_;
  FittedLevel<S> fitted_;
  const u64 blocks_;  // per item
  const Arrangement arrangement_;
  StencilId reach_ = stencil_standard;
  u32* const checks_;
};

}  // namespace

template <class S>
bool encode_level(LevelSource<S>& source, LevelState<S>& state, size_t l, bool edge, u32* checks, int threads, Bytes& out,
                  RefinementSections* refinements, LearnedLevel* learned) {
  LevelEncoder<S> encoder(source, state, l, edge, checks, threads);
  if (learned && !edge) encoder.teach(*learned);
  LevelState<S> next;
  std::vector<std::vector<LevelStreams>> refined;
  const std::vector<LevelStreams> pieces = encoder.streams(next, refined, threads);
  STZ_FAULT_POINT(reconstruction, next.grid.data(), next.grid.size() * sizeof(S));
  STZ_FAULT_POINT(activities, next.activities.data(), next.activities.size());
  next.parameters = state.parameters;
  const Bytes head = encoder.write_head(pieces, next.parameters);
  next.parameters.refined.resize(refined.size());
  state = std::move(next);
  STZ_STAGE(assemble);
  auto append = [&](const Bytes& front, const std::vector<LevelStreams>& streams, Bytes& to) {
    const size_t begin = to.size();
    assemble(front, streams, to);
    return encoder.stream_count() <= most_index_sizes(to.size() - begin);
  };
  bool possible = append(head, pieces, out);
  for (size_t r = 0; r < refined.size(); r++) {
    if (!encoder.has_refinement(r)) continue;
    Bytes& to = refinements->bytes[r];
    const size_t begin = to.size();
    possible &= append(encoder.write_refined_head(r, refined[r], state.parameters.refined[r]), refined[r], to);
    refinements->sizes[r].push_back(to.size() - begin);
  }
  return possible;
}

#define STZ_INSTANTIATE(S) \
  template bool encode_level(LevelSource<S>&, LevelState<S>&, size_t, bool, u32*, int, Bytes&, RefinementSections*, LearnedLevel*);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
