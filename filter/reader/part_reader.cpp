#include "reader/part_reader.h"

#include "base/parallel.h"
#include "base/threads.h"
#include "reader/copy_elements.h"
#include "reader/lost_areas.h"
#include "reader/part_decoder.h"
#include "reader/part_verifier.h"
#include "reader/read_planner.h"

namespace stz {
namespace {

// Several adjacent slices across the last axis that were read at once and are kept, one after the other.
struct Columns {
  size_t level = 0;
  Progression wanted;
  std::vector<Selection::BatchAxis> batch;
  std::array<std::vector<Selection::Repetition>, axes> nested;
  Buffer<u8> elements;
  bool are(size_t l, const Progression& p, const Selection& selection) const {
    return level == l && wanted == p && batch == selection.batch && nested == selection.nested &&
           elements.size() == u64(p.count[3]) * selection.bytes;
  }
};

template <class S>
class BlockPartReader : public PartReader {
 public:
  BlockPartReader(Header& header, SourcePart& source, u64 cache_bytes)
      : header_(header),
        source_(source),
        sections_(header, source),
        limit_(cache_bytes),
        cache_(cache_bytes),
        planner_(sections_, cache_),
        bits_(header),
        present_(sections_.block_count_of_all_levels()),
        verifier_(header, source) {}

  void take(size_t refinements) override {
    if (refinements == sections_.taken()) return;
    sections_.take(refinements);
    columns_ = {};
    cache_.set_limit(0);
    cache_.set_limit(limit_);
  }

  void enhance(bool on) override {
    if (on != enhances_) columns_ = {};
    enhances_ = on;
  }

  void read(const Selection& selection, u8* out, int threads, DamageReport* report) override {
    if (!report) return read_any(selection, out, threads, nullptr);
    try {
      read_any(selection, out, threads, report);
    } catch (const Failure& failure) {  // the base section is damaged, on which everything depends
      if (!is_damage(failure.code)) throw;
      report->lose(report->note(failure.code, int(sections_.base_level()), no_block), selection);
    }
  }

  std::vector<ByteRange> plan(const Selection& selection) override {
    Progression in_level;
    const size_t l = coarsest_level(sections_.hierarchy(), selection.wanted, in_level);
    sections_.read_directories(l);
    if (l == sections_.base_level()) return source_.not_peeked(l == 0 ? verifier_.missing() : std::vector<ByteRange>{});
    const Progression wanted = planner_.with_columns(l, in_level, selection, limit_);
    if (wanted != in_level && columns_.are(l, wanted, selection)) return {};
    const std::vector<LevelPlan> plans = planner_.plans_for(l, with_neighbours(l, wanted), selection);
    std::vector<ByteRange> ranges;
    bool decodes = false;
    selection.for_items([&](u64 item, u64) {
      Fetched fetched;
      decodes |= planner_.collect(plans, item, fetched, nullptr);
      const std::vector<ByteRange>& joined = fetched.join();
      ranges.insert(ranges.end(), joined.begin(), joined.end());
    });
    if (decodes && verifies(plans[0]))
      for (const ByteRange& trailer : verifier_.missing()) ranges.push_back(trailer);
    return source_.not_peeked(merged(std::move(ranges), 0));
  }

  u64 cached_bytes() const override { return cache_.bytes() + columns_.elements.size(); }
  u64 fixed_bytes() const override { return sections_.bytes(); }
  u64 blocks_decoded() const override { return decoded_; }
  u64 blocks_present() const override { return present_; }
  void limit(u64 cache_bytes) override {
    limit_ = cache_bytes;
    if (columns_.elements.size() > limit_ / 4) columns_ = {};
    cache_.set_limit(limit_ - columns_.elements.size());
  }
  void verify(bool on) override { verifier_.set(on); }

 private:
  void read_any(const Selection& selection, u8* out, int threads, DamageReport* report) {
    Progression in_level;
    const size_t l = coarsest_level(sections_.hierarchy(), selection.wanted, in_level);
    int why = STZ_OK;
    size_t readable = l;
    if (report)
      readable = sections_.read_whole_directories(l, why);
    else
      sections_.read_directories(l);
    if (l == sections_.base_level()) {
      if (l == 0) prepare_verifier(report);
      return read_base_section(in_level, selection, out);
    }
    const Progression wanted = report ? in_level : planner_.with_columns(l, in_level, selection, limit_);
    const std::vector<LevelPlan> plans = planner_.plans_for(l, with_neighbours(l, wanted), selection);
    planner_.remember(l, in_level);
    if (wanted != in_level) return read_columns(l, wanted, plans, in_level, selection, out, threads);
    selection.for_items([&](u64 item, u64 offset) {
      if (!report) return read_item(plans, item, in_level, selection, out + offset, threads, nullptr);
      Lost lost{*report, {sections_.hierarchy(), sections_.reach(), header_.masked}, readable};
      if (readable > l) lost.level_cause = report->note(why, int(readable) - 1, no_block);
      read_item(plans, item, in_level, selection, out + offset, threads, &lost);
      for (const LostArea& area : lost.areas.all()) {
        if (enhances(l))
          report->lose_around(sections_.hierarchy(), in_level, selection, offset, area, enhancement_margin());
        else
          report->lose(sections_.hierarchy(), l, in_level, selection, offset, area);
      }
    });
  }

  // State of one item's read that continues after damage.
  struct Lost {
    DamageReport& report;
    LostAreas areas;
    size_t readable;         // directories of finer levels are damaged
    size_t level_cause = 0;  // number of that damage
  };

  // Reads the content check. If it is damaged, no samples are lost: nothing is compared.
  void prepare_verifier(DamageReport* report) {
    try {
      verifier_.prepare(sections_);
    } catch (const Failure& failure) {
      if (!report || !is_damage(failure.code) || failure.code == STZ_ERROR_CONTENT) throw;
      report->note(failure.code, -1, no_block);
    }
  }

  Index enhancement_margin() const {
    Index margin{};
    for (const int axis : EnhancementShape(sections_.hierarchy().level[0]).axis) margin[size_t(axis)] = enhancement_reach;
    return margin;
  }

  // The content check covers full precision only, so it needs all refinements.
  bool verifies(const LevelPlan& plan) const { return plan.l == 0 && sections_.taken() == header_.layers.refinements(); }
  bool enhances(size_t l) const { return l == 0 && enhances_ && header_.enhancement.any(); }
  // The samples to decode for a progression of a level: enhanced samples need their neighbours too.
  Progression with_neighbours(size_t l, const Progression& p) const {
    if (!enhances(l)) return p;
    Progression wide = p;
    for (const int axis : EnhancementShape(sections_.hierarchy().level[0]).axis) {
      const size_t a = size_t(axis);
      wide.start[a] = std::max<i64>(p.start[a] - enhancement_reach, 0);
      wide.count[a] = std::min(p.last(a) + 1 + enhancement_reach, sections_.hierarchy().level[0].n[a]) - wide.start[a];
      wide.step[a] = 1;
    }
    return wide;
  }

  void read_base_section(const Progression& in_level, const Selection& selection, u8* out) const {
    const size_t l = sections_.base_level();
    const Level& level = sections_.hierarchy().level[l];
    const DecodedLevel<S>& base = sections_.base();
    selection.for_items([&](u64 item, u64 offset) {
      const u8* specials = header_.masked ? base.specials.data() + item * level.samples() : nullptr;
      copy_elements(header_, bits_, {{}, level.n}, base.samples.data() + item * level.samples(), specials, sections_.base_literals(),
                    level_map(sections_.hierarchy(), l, item), in_level, selection, out + offset);
    });
  }

  // Copies one slice from the kept columns; reads and keeps all of these columns first if needed.
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
      selection.for_items([&](u64 item, u64 offset) { read_item(plans, item, wanted, all, c.elements.data() + offset, threads, nullptr); });
      c.level = l;
      c.wanted = wanted;
      c.batch = selection.batch;
      c.nested = selection.nested;
    }
    memcpy(out, c.elements.data() + u64(in_level.start[3] - wanted.start[3]) * selection.bytes, size_t(selection.bytes));
  }

  // Fetches the blocks of an item that are not cached, decodes them from coarse to fine and copies the wanted samples of the finest level.
  void read_item(const std::vector<LevelPlan>& plans, u64 item, const Progression& in_level, const Selection& selection, u8* out,
                 int threads, Lost* lost) {
    Fetched fetched;
    std::vector<LevelBlocks<S>> levels;
    const bool decodes = planner_.collect(plans, item, fetched, &levels, lost ? lost->readable : 0);
    if (decodes && verifies(plans[0])) prepare_verifier(lost ? &lost->report : nullptr);
    fetched.fetch(source_, lost != nullptr);
    threads = useful_threads(threads, samples_to_decode(levels) + selection.elements);
    for (size_t p = levels.size(); p-- > 0;) {
      LevelBlocks<S>& level_blocks = levels[p];
      const LevelPlan& plan = *level_blocks.plan;
      // null: the coarser level is the base section, or no block of this level is missing
      const LevelBlocks<S>* coarser = p + 1 < levels.size() ? &levels[p + 1] : nullptr;
      if (lost) lost_on(plan.l, *lost);
      std::vector<u8> fresh(level_blocks.blocks.size());
      std::vector<int> failed(lost ? level_blocks.blocks.size() : 0);
      std::atomic<u64> kept{0}, decoded{0};
      parallel_for<PartDecoder<S>>(level_blocks.blocks.size(), threads, [&](PartDecoder<S>& decoder, u64 i) {
        auto& block = level_blocks.blocks[size_t(i)];
        if (!block) {
          const PlannedBlock<S> planned{plan, i, item, coarser};
          fresh[size_t(i)] = lost ? decode_or_replace(decoder, planned, fetched, *lost, block, failed[size_t(i)])
                                  : decode_whole(decoder, planned, fetched, block);
          decoded++;
        }
        if (p > 0 || enhances(plan.l)) return;
        copy_elements(header_, bits_, block->box, block->samples.data(), block->specials.empty() ? nullptr : block->specials.data(),
                      block->literals, level_map(sections_.hierarchy(), plan.l, item), in_level, selection, out);
        if (fresh[size_t(i)] && (kept += block->bytes()) > cache_.limit()) block.reset();  // does not fit in the cache
      });
      if (p == 0 && enhances(plan.l)) copy_enhanced(level_blocks, item, in_level, selection, out, threads);
      decoded_ += decoded;
      for (u64 i = 0; i < level_blocks.blocks.size(); i++) {
        const u64 number = sections_.block_number(plan, item, i);
        if (lost && failed[size_t(i)]) {
          const Box box = block_box(sections_.hierarchy().level[plan.l], plan.block(sections_.hierarchy().level[plan.l], i));
          lost->areas.add(lost->report.note(failed[size_t(i)], int(plan.l), number), plan.l, box);
        } else if (fresh[size_t(i)] && level_blocks.blocks[size_t(i)])
          cache_.keep(plan.l, number, level_blocks.blocks[size_t(i)]);
      }
      if (p + 1 < levels.size()) levels[p + 1].blocks.clear();  // a level needs the next coarser one only: at most two levels are in memory
    }
  }

  // The samples of the blocks that no cache has, on all levels.
  u64 samples_to_decode(const std::vector<LevelBlocks<S>>& levels) const {
    u64 samples = 0;
    for (const LevelBlocks<S>& of_level : levels) {
      const Level& level = sections_.hierarchy().level[of_level.plan->l];
      const u64 missing = u64(std::count(of_level.blocks.begin(), of_level.blocks.end(), nullptr));
      samples += missing * (level.samples() / block_count(level));
    }
    return samples;
  }

  // Adds the areas that are lost on a level, before its blocks are decoded.
  void lost_on(size_t l, Lost& lost) const {
    if (l < lost.readable)
      lost.areas.add(lost.level_cause, l, {{}, sections_.hierarchy().level[l].n});
    else if (l + 1 < sections_.base_level())
      lost.areas.descend(l);
  }

  // Both return whether the block may be cached.
  bool decode_whole(PartDecoder<S>& decoder, const PlannedBlock<S>& planned, const Fetched& fetched, typename BlockCache<S>::Block& block) {
    block = decoder.decode(sections_, planned, fetched);
    if (verifies(planned.plan))
      verifier_.verify(sections_, *block, planned.item, sections_.block_number(planned.plan, planned.item, planned.i));
    return true;
  }
  bool decode_or_replace(PartDecoder<S>& decoder, const PlannedBlock<S>& planned, const Fetched& fetched, const Lost& lost,
                         typename BlockCache<S>::Block& block, int& code) {
    const Level& level = sections_.hierarchy().level[planned.plan.l];
    const Box box = block_box(level, planned.plan.block(level, planned.i));
    try {
      if (!lost.areas.have_some(planned.plan.l, box)) return decode_whole(decoder, planned, fetched, block);
      if (!lost.areas.have_all(planned.plan.l, box)) block = decoder.decode(sections_, planned, fetched);
    } catch (const Failure& failure) {
      if (!is_damage(failure.code)) throw;
      block.reset();
      code = failure.code;
    }
    if (!block) block = decoder.without_classes(sections_, planned);
    return false;
  }

  // Copies enhanced samples of level 0. All blocks of the level are there, because the enhancement of a block reads its neighbours too.
  void copy_enhanced(const LevelBlocks<S>& level_blocks, u64 item, const Progression& in_level, const Selection& selection, u8* out,
                     int threads) {
    if constexpr (std::is_floating_point_v<S>) {
      const Level& level = sections_.hierarchy().level[0];
      const LevelMap map = level_map(sections_.hierarchy(), 0, item);
      parallel_for<EnhancingWorker>(level_blocks.blocks.size(), threads, [&](EnhancingWorker& worker, u64 i) {
        const DecodedBlock<S>& block = *level_blocks.blocks[size_t(i)];
        Box box;  // the wanted part of the block
        for (size_t a = 0; a < axes; a++) {
          box.low[a] = std::max(block.box.low[a], in_level.start[a]);
          box.size[a] = std::min(block.box.low[a] + block.box.size[a], in_level.last(a) + 1) - box.low[a];
          if (box.size[a] <= 0) return;
        }
        if (worker.enhancer.empty()) worker.enhancer.emplace_back(header_, sections_.hierarchy());
        const Box wide = worker.enhancer[0].with_neighbours(box);
        const GridPart<const S> plain = gather(level, level_blocks, &DecodedBlock<S>::samples, wide, worker.plain);
        const u8* kinds = header_.masked ? gather(level, level_blocks, &DecodedBlock<S>::specials, wide, worker.kinds).data : nullptr;
        const u8* inner_kinds =
            header_.masked ? gather(level, level_blocks, &DecodedBlock<S>::specials, box, worker.inner_kinds).data : nullptr;
        gather(level, level_blocks, &DecodedBlock<S>::samples, box, worker.enhanced);
        worker.enhancer[0].run(plain, kinds, {worker.enhanced.data(), box}, 1);
        copy_elements(header_, bits_, box, worker.enhanced.data(), inner_kinds, block.literals, map, in_level, selection, out);
      });
    }
  }

  struct NoEnhancer {};
  struct EnhancingWorker {
    std::vector<std::conditional_t<std::is_floating_point_v<S>, Enhancer<S>, NoEnhancer>> enhancer;
    Buffer<S> plain, enhanced;
    Buffer<u8> kinds, inner_kinds;
  };

  const Header& header_;
  SourcePart& source_;
  StreamSections<S> sections_;
  u64 limit_;  // of blocks and columns together, in bytes
  BlockCache<S> cache_;
  ReadPlanner<S> planner_;
  const ElementBits<S> bits_;
  Columns columns_;
  const u64 present_;
  u64 decoded_ = 0;
  bool enhances_ = true;
  PartVerifier<S> verifier_;
};

}  // namespace

std::unique_ptr<PartReader> make_part_reader(Header& header, SourcePart& source, u64 cache_bytes) {
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
