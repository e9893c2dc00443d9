#include "reader/part_reader.h"

#include <algorithm>

#include "base/parallel.h"
#include "decoder/decode_base_section.h"
#include "decoder/decode_block.h"
#include "reader/block_cache.h"
#include "reader/copy_elements.h"
#include "reader/fetched.h"
#include "reader/plan.h"

namespace stz {
namespace {

constexpr u64 first_peek = 1024;     // bytes of a section that are fetched to see how long its directory is
constexpr i64 columns_at_once = 16;  // a line of memory

template <class S>
class BlockPartReader : public PartReader {
 public:
  BlockPartReader(const Header& header, Source& source, u64 cache_bytes)
      : header_(header), source_(source), h_(hierarchy_of(header)), limit_(cache_bytes), cache_(cache_bytes), bits_(header) {
    quantizer_ = level_quantizers<S>(header, h_.level.size());
    directory_.resize(size_t(h_.base_level));
    reach_.resize(size_t(h_.base_level), stencil_standard);
    finest_directory_ = size_t(h_.base_level);
    u64 offset = header.size;
    for (u64 n : header.section) {
      section_.push_back({offset, n});
      require(n <= source.size() - offset, STZ_ERROR_TRUNCATED);
      offset += n;
    }
    require(offset == source.size(), STZ_ERROR_CORRUPT);
    for (int l = 0; l < h_.base_level; l++) {
      const Level& level = h_.level[size_t(l)];
      present_ += block_count(level) * h_.batch;
    }
  }

  void read(const Selection& selection, u8* out, int threads) override {
    Progression in_level;
    const size_t l = coarsest_level(h_, selection.wanted, in_level);
    read_directories(l);
    if (l == size_t(h_.base_level)) {
      const Level& base = h_.level[l];
      selection.for_items([&](u64 item, u64 offset) {
        const u8* specials = header_.masked ? base_.specials.data() + item * base.samples() : nullptr;
        copy_elements(header_, bits_, {{}, base.n}, base_.samples.data() + item * base.samples(), specials, base_literals_,
                      level_map(h_, l, item), in_level, selection, out + offset);
      });
      return;
    }
    const Progression wanted = with_columns(l, in_level, selection);
    const std::vector<LevelPlan> plans = plans_for(l, wanted, selection);
    last_level_ = l;
    last_ = in_level;
    if (wanted != in_level) return read_columns(l, wanted, plans, in_level, selection, out, threads);
    selection.for_items([&](u64 item, u64 offset) { read_item(plans, item, in_level, selection, out + offset, threads); });
  }

  std::vector<ByteRange> plan(const Selection& selection) override {
    Progression in_level;
    const size_t l = coarsest_level(h_, selection.wanted, in_level);
    read_directories(l);
    if (l == size_t(h_.base_level)) return {};
    const Progression wanted = with_columns(l, in_level, selection);
    if (wanted != in_level && columns_.are(l, wanted, selection)) return {};
    const std::vector<LevelPlan> plans = plans_for(l, wanted, selection);
    std::vector<ByteRange> ranges;
    selection.for_items([&](u64 item, u64) {
      Fetched fetched;
      collect(plans, item, fetched, nullptr);
      const std::vector<ByteRange>& joined = fetched.join();
      ranges.insert(ranges.end(), joined.begin(), joined.end());
    });
    return source_.not_cached(merged(std::move(ranges), 0));
  }

  u64 cached_bytes() const override { return cache_.bytes() + columns_.elements.size(); }
  u64 blocks_decoded() const override { return decoded_; }
  u64 blocks_present() const override { return present_; }
  void limit(u64 cache_bytes) override {
    limit_ = cache_bytes;
    if (columns_.elements.size() > limit_ / 4) columns_ = {};
    cache_.set_limit(limit_ - columns_.elements.size());
  }

 private:
  using Block = typename BlockCache<S>::Block;

  // The base section and the directories of all levels down to l.
  void read_directories(size_t l) {
    auto section = [&](size_t level) { return section_[size_t(h_.base_level) - level]; };
    if (base_.samples.empty()) {
      const ByteRange range = section(size_t(h_.base_level));
      Buffer<u8> bytes(size_t(range.size));
      source_.read(range.offset, range.size, bytes.data());
      base_ = decode_base_section(header_, h_, quantizer_, bytes.data(), size_t(range.size), state_, base_literals_);
      sort_literals(base_literals_);
    }
    while (finest_directory_ > l) {
      const size_t level = finest_directory_ - 1;
      const ByteRange range = section(level);
      Bytes bytes(size_t(std::min(first_peek, range.size)));
      source_.peek(range.offset, bytes.size(), bytes.data());
      try {
        while (const u64 needed = read_directory(header_, h_, level, 8 * int(sizeof(S)), bytes.data(), bytes.size(), range.size, state_,
                                                 directory_[level])) {
          const size_t have = bytes.size();
          bytes.resize(size_t(needed));
          source_.peek(range.offset + have, needed - have, bytes.data() + have);
        }
      } catch (const Failure&) {
        source_.invalidate(range.offset, range.size);  // the source may do better next time
        throw;
      }
      reach_[level] = directory_[level].reach;
      finest_directory_ = level;
    }
  }

  static void sort_literals(std::vector<LiteralElement>& literals) {
    std::sort(literals.begin(), literals.end(), [](const LiteralElement& a, const LiteralElement& b) { return a.index < b.index; });
  }

  u64 stream_offset(const LevelPlan& plan, u64 number) const {
    const LevelDirectory& d = directory_[plan.l];
    return section_[size_t(h_.base_level) - plan.l].offset + d.begin + d.offset_of(number);
  }
  bool stream_wanted(const LevelPlan& plan, size_t k) const {
    const LevelDirectory& d = directory_[plan.l];
    return d.merged || k < size_t(header_.masked) || plan.wanted >> (k - size_t(header_.masked)) & 1;
  }
  void want_block(const LevelPlan& plan, u64 number, Fetched& fetched) const {
    const LevelDirectory& d = directory_[plan.l];
    u64 at = stream_offset(plan, number);
    for (size_t k = 0; k < d.per_block; k++) {
      const u64 size = d.stored_size(size_t(number * d.per_block) + k);
      if (stream_wanted(plan, k)) fetched.want(at, size);
      at += size;
    }
  }

  bool near_last(const Progression& now) const {
    bool same = true;
    for (size_t a = 0; a < axes; a++) {
      const i64 margin = 2 * std::max(now.step[a], last_.step[a]);
      if (now.start[a] > last_.last(a) + margin || last_.start[a] > now.last(a) + margin) return false;
      same &= now.start[a] == last_.start[a] && now.last(a) == last_.last(a);
    }
    return !same;
  }

  // Whether this is a slice or box beside the one before it.
  bool moving(size_t l, const Progression& in_level) const { return cache_.limit() && l == last_level_ && near_last(in_level); }

  // Beside the read before, or where a block was read in part, whole blocks: the next read will want the rest of them.
  std::vector<LevelPlan> plans_for(size_t l, const Progression& wanted, const Selection& selection) const {
    const bool whole = moving(l, wanted);
    std::vector<LevelPlan> plans = plan_item(h_, l, wanted, reach_, header_.masked, whole);
    if (!whole && cache_.limit() && cached_in_part(plans[0], selection)) plans = plan_item(h_, l, wanted, reach_, header_.masked, true);
    return plans;
  }

  // What to read for a request: of a slice across the last axis that moves along it several at once, as the next ones are in the same
  // lines of memory.
  Progression with_columns(size_t l, const Progression& in_level, const Selection& selection) const {
    const i64 n = h_.level[l].n[3], first = in_level.start[3] / columns_at_once * columns_at_once;
    const i64 count = std::min(columns_at_once, n - first);
    if (in_level.count[3] != 1 || n == 1 || selection.padded || selection.bytes > limit_ / (4 * columns_at_once) || !moving(l, in_level))
      return in_level;
    Progression wanted = in_level;
    wanted.start[3] = first;
    wanted.count[3] = count;
    return wanted;
  }

  // One of these slices; all of them stay.
  void read_columns(size_t l, const Progression& wanted, const std::vector<LevelPlan>& plans, const Progression& in_level,
                    const Selection& selection, u8* out, int threads) {
    Columns& c = columns_;
    if (!c.are(l, wanted, selection)) {
      const u64 needed = u64(wanted.count[3]) * selection.bytes;
      c = {};
      cache_.set_limit(limit_ - needed);
      c.elements.resize(size_t(needed));
      Selection all = selection;
      all.stride[3] = i64(selection.bytes);
      selection.for_items([&](u64 item, u64 offset) { read_item(plans, item, wanted, all, c.elements.data() + offset, threads); });
      c.level = l;
      c.wanted = wanted;
      c.batch = selection.batch;
    }
    memcpy(out, c.elements.data() + u64(in_level.start[3] - wanted.start[3]) * selection.bytes, size_t(selection.bytes));
  }

  bool cached_in_part(const LevelPlan& plan, const Selection& selection) const {
    bool in_part = false;
    selection.for_items([&](u64 item, u64) {
      for (u64 i = 0; i < plan.blocks() && !in_part; i++) {
        const u64 number = item * directory_[plan.l].per_item + plan.block(h_.level[plan.l], i);
        in_part = cache_.has_part(plan.l, number) && !cache_.has(plan.l, number, plan.wanted, plan.needed(i));
      }
    });
    return in_part;
  }

  // Blocks of one level and item, by their place in its plan.
  struct LevelBlocks {
    const LevelPlan* plan = nullptr;
    std::vector<Block> blocks;
  };

  // The ranges of all blocks that are needed and not kept, level by level until none is missing, and the kept ones in `levels` (or null).
  void collect(const std::vector<LevelPlan>& plans, u64 item, Fetched& fetched, std::vector<LevelBlocks>* levels) {
    for (const LevelPlan& plan : plans) {
      bool missing = false;
      LevelBlocks level_blocks{&plan, std::vector<Block>(size_t(plan.blocks()))};
      for (u64 i = 0; i < plan.blocks(); i++) {
        const u64 number = item * directory_[plan.l].per_item + plan.block(h_.level[plan.l], i);
        Block& block = level_blocks.blocks[size_t(i)];
        block = cache_.find(plan.l, number, plan.wanted, plan.needed(i));
        if (block) continue;
        want_block(plan, number, fetched);
        missing = true;
      }
      if (levels) levels->push_back(std::move(level_blocks));
      if (!missing) return;
    }
  }

  void read_item(const std::vector<LevelPlan>& plans, u64 item, const Progression& in_level, const Selection& selection, u8* out,
                 int threads) {
    Fetched fetched;
    std::vector<LevelBlocks> levels;
    collect(plans, item, fetched, &levels);
    fetched.fetch(source_);
    for (size_t p = levels.size(); p-- > 0;) {
      LevelBlocks& level_blocks = levels[p];
      const LevelBlocks* coarser = p + 1 < levels.size() ? &levels[p + 1] : nullptr;  // or nothing is missing
      const LevelDirectory& d = directory_[level_blocks.plan->l];
      const Level& level = h_.level[level_blocks.plan->l];
      std::vector<u8> fresh(level_blocks.blocks.size());
      std::atomic<u64> kept{0}, decoded{0};
      parallel_for<Worker>(level_blocks.blocks.size(), threads, [&](Worker& worker, u64 i) {
        Block& block = level_blocks.blocks[size_t(i)];
        if (!block) {
          block = decode(*level_blocks.plan, i, item, coarser, fetched, worker);
          fresh[size_t(i)] = 1;
          decoded++;
        }
        if (p > 0) return;
        copy_elements(header_, bits_, block->box, block->samples.data(), block->specials.empty() ? nullptr : block->specials.data(),
                      block->literals, level_map(h_, level_blocks.plan->l, item), in_level, selection, out);
        if (fresh[size_t(i)] && (kept += block->bytes()) > cache_.limit()) block.reset();  // as much as can be kept
      });
      decoded_ += decoded;
      for (u64 i = 0; i < level_blocks.blocks.size(); i++)
        if (fresh[size_t(i)] && level_blocks.blocks[size_t(i)])
          cache_.keep(level_blocks.plan->l, item * d.per_item + level_blocks.plan->block(level, i), level_blocks.blocks[size_t(i)]);
    }
  }

  // One thread's room: a decoder, and what a block needs of the coarser level.
  struct Worker {
    BlockDecoder<S> decoder;
    Buffer<S> samples;
    Buffer<u8> activities, specials;
    std::vector<LiteralElement> literals;
  };

  // Calls f(block) for those blocks of a level that have samples of a box.
  template <class F>
  void for_blocks_at(const LevelBlocks& of, const Box& box, F f) const {
    const Level& level = h_.level[of.plan->l];
    size_t from[axes], to[axes];  // among the cuts
    for (size_t a = 0; a < axes; a++) {
      const auto& cuts = of.plan->cuts[a];
      auto first = [&](i64 number) {
        auto it = std::lower_bound(cuts.begin(), cuts.end(), number, [](const LevelPlan::Cut& cut, i64 n) { return cut.number < n; });
        return size_t(it - cuts.begin());
      };
      from[a] = first(box.low[a] / level.block[a]);
      to[a] = first((box.low[a] + box.size[a] - 1) / level.block[a] + 1);
    }
    for (size_t i = from[0]; i < to[0]; i++)
      for (size_t j = from[1]; j < to[1]; j++)
        for (size_t k = from[2]; k < to[2]; k++)
          for (size_t x = from[3]; x < to[3]; x++)
            f(*of.blocks[((i * of.plan->cuts[1].size() + j) * of.plan->cuts[2].size() + k) * of.plan->cuts[3].size() + x]);
  }

  // Copies a box of a level from the blocks that have it; what none has is left as it is.
  template <class T>
  GridPart<const T> gather(const LevelBlocks& from, Buffer<T> DecodedBlock<S>::*what, const Box& box, Buffer<T>& buffer) const {
    buffer.resize(size_t(box.size[0] * box.size[1] * box.size[2] * box.size[3]));
    const GridPart<T> to{buffer.data(), box};
    for_blocks_at(from, box, [&](const DecodedBlock<S>& block) {
      if ((block.*what).empty()) return;
      Index low, high;
      for (size_t a = 0; a < axes; a++) {
        low[a] = std::max(box.low[a], block.box.low[a]);
        high[a] = std::min(box.low[a] + box.size[a], block.box.low[a] + block.box.size[a]);
      }
      const GridPart<const T> part{(block.*what).data(), block.box};
      for_rows({low[0], low[1], low[2], 0}, {high[0], high[1], high[2], 1}, [&](i64 i, i64 j, i64 k) {
        memcpy(to.at(i, j, k, low[3]), part.at(i, j, k, low[3]), size_t(high[3] - low[3]) * sizeof(T));
      });
    });
    return to;
  }

  // The i-th block of a plan. `coarser`: blocks of the coarser level that have all that this one needs; null: that is the base level.
  Block decode(const LevelPlan& plan, u64 i, u64 item, const LevelBlocks* coarser, const Fetched& fetched, Worker& worker) const {
    const LevelDirectory& d = directory_[plan.l];
    const Level& level = h_.level[plan.l];
    const u64 number = item * d.per_item + plan.block(level, i);
    auto decoded = std::make_shared<DecodedBlock<S>>();
    decoded->box = block_box(level, number % d.per_item);
    decoded->wanted = d.merged ? all_classes : plan.wanted;
    decoded->exact = plan.needed(i);
    const Index &n = decoded->box.size, &needed = decoded->exact.size;
    const size_t samples = size_t(n[0] * n[1] * n[2] * n[3]);
    const bool values = needed[0] && needed[1] && needed[2] && needed[3];
    if (values) decoded->samples.resize(samples);
    if (plan.l > 0 && decoded->wanted == all_classes) decoded->activities.resize(samples);
    if (header_.masked) decoded->specials.resize(samples);

    BlockToDecode<S> block;
    block.number = number;
    block.wanted = plan.wanted;
    u64 at = stream_offset(plan, number);
    for (size_t k = 0; k < d.per_block; k++) {
      const u64 size = d.stored_size(size_t(number * d.per_block) + k);
      block.stream[k] = size && stream_wanted(plan, k) ? fetched.at(at) : nullptr;
      at += size;
    }
    const std::vector<LiteralElement>* inherited = &base_literals_;
    if (coarser) {
      Box of_block, of_values;  // what the block covers of the coarser level; what its needed samples are predicted from
      for (size_t a = 0; a < axes; a++) {
        const Span span{decoded->box.low[a], decoded->box.low[a] + n[a]};
        const i64 unit = level.split[a] ? 2 : 1;
        of_block.low[a] = span.low / unit;
        of_block.size[a] = (span.high + unit - 1) / unit - of_block.low[a];
        const Span from =
            coarse_span(h_, plan.l, a, span, {decoded->exact.low[a], decoded->exact.low[a] + needed[a]}, d.reach, header_.masked);
        of_values.low[a] = from.low;
        of_values.size[a] = from.high - from.low;
      }
      if (values) block.coarse = gather(*coarser, &DecodedBlock<S>::samples, of_values, worker.samples);
      block.coarse_activities = gather(*coarser, &DecodedBlock<S>::activities, of_block, worker.activities);
      if (header_.masked) block.coarse_specials = gather(*coarser, &DecodedBlock<S>::specials, of_block, worker.specials);
      worker.literals.clear();
      for_blocks_at(*coarser, of_block,
                    [&](const DecodedBlock<S>& b) { worker.literals.insert(worker.literals.end(), b.literals.begin(), b.literals.end()); });
      inherited = &worker.literals;
    } else {
      const Level& base = h_.level[size_t(h_.base_level)];
      block.coarse = whole_grid<const S>(base_.samples.data() + item * base.samples(), base);
      block.coarse_activities = whole_grid<const u8>(base_.activities.data() + item * base.samples(), base);
      if (header_.masked) block.coarse_specials = whole_grid<const u8>(base_.specials.data() + item * base.samples(), base);
    }
    if (values) block.grid = {decoded->samples.data(), decoded->box};
    if (!decoded->activities.empty()) block.activities = {decoded->activities.data(), decoded->box};
    if (header_.masked) block.specials = {decoded->specials.data(), decoded->box};
    BlockDecoder<S>& decoder = worker.decoder;
    decoder.literals.clear();
    decoder.decode(LevelToDecode<S>{header_, h_, plan.l, quantizer_[plan.l], d}, block);
    decoded->literals = std::move(decoder.literals);
    decoder.literals.clear();
    if (!inherited->empty()) inherit(*inherited, plan.l, item, *decoded);
    sort_literals(decoded->literals);
    return decoded;
  }

  // Adds those of the coarser samples of kind special_literal that the block has.
  void inherit(const std::vector<LiteralElement>& coarser, size_t l, u64 item, DecodedBlock<S>& block) const {
    const LevelMap map = level_map(h_, l, item);
    for (const LiteralElement& o : coarser) {
      if (o.index < map.item) continue;
      u64 rest = o.index - map.item;
      bool inside = true;
      for (size_t a = 0; a < axes && inside; a++) {
        const i64 at = h_.level[l].n[a] > 1 ? i64(rest / u64(map.step[a])) : 0;
        inside = at >= block.box.low[a] && at < block.box.low[a] + block.box.size[a];
        rest -= u64(at) * u64(map.step[a]);
      }
      if (inside && rest == 0) block.literals.push_back(o);
    }
  }

  const Header& header_;
  Source& source_;
  const Hierarchy h_;
  std::vector<Quantizer<S>> quantizer_;
  std::vector<ByteRange> section_;  // in the stream: the base section, then levels base_level - 1 .. 0
  DecodedLevel<S> base_;            // empty: not read yet
  std::vector<LiteralElement> base_literals_;
  ParameterState state_;
  size_t finest_directory_;  // directories of this level and coarser ones are read
  std::vector<LevelDirectory> directory_;
  std::vector<StencilId> reach_;
  u64 limit_;  // of blocks and columns together, in bytes
  BlockCache<S> cache_;
  const ElementBits<S> bits_;
  u64 decoded_ = 0, present_ = 0;
  size_t last_level_ = size_t(-1);  // of the read before
  Progression last_;
  struct Columns {  // see read_columns; one slice after the other
    size_t level = 0;
    Progression wanted;
    std::vector<Selection::BatchAxis> batch;
    Buffer<u8> elements;
    bool are(size_t l, const Progression& p, const Selection& selection) const {
      return level == l && wanted == p && batch == selection.batch && elements.size() == u64(p.count[3]) * selection.bytes;
    }
  } columns_;
};

}  // namespace

std::unique_ptr<PartReader> make_part_reader(const Header& header, Source& source, u64 cache_bytes) {
  switch (header.sample) {
    case SampleType::f32:
      return std::make_unique<BlockPartReader<float>>(header, source, cache_bytes);
    case SampleType::f64:
      return std::make_unique<BlockPartReader<double>>(header, source, cache_bytes);
    default:
      return std::make_unique<BlockPartReader<i64>>(header, source, cache_bytes);
  }
}

}  // namespace stz
