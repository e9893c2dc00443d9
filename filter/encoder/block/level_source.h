// The input of the encoder, level by level: samples, special values, quantizers. Encoder only.
#pragma once
#include <algorithm>
#include <limits>

#include "base/faults.h"
#include "base/parallel.h"
#include "base/stages.h"
#include "encoder/plan/effort.h"
#include "encoder/plan/plan.h"
#include "encoder/plan/result.h"
#include "encoder/represent/dead_zone.h"
#include "format/convert.h"
#include "format/logarithm.h"
#include "masks/mask_coder.h"
#include "predict/level_quantizers.h"
#include "predict/parameter_coding.h"

namespace stz {

template <class S>
class LevelSource {
 public:
  using Real = RealOf<S>;

  // The plan must outlive this object. Levels of more than `most_stored` samples are not stored, except level 0: only gather() returns
  // their samples.
  LevelSource(const Plan<S>& plan, const SectionForm& form, u64 most_stored = std::numeric_limits<u64>::max())
      : header_(with_form(plan, form)),
        h_(hierarchy_of(header_)),
        effort_(effort_of(form.effort ? form.effort : plan.effort)),
        learned_(form.learned),
        literals_(plan.masks->literals),
        has_specials_(plan.specials() != nullptr) {
    const size_t levels = h_.level.size();
    original_.resize(levels);
    specials_.resize(levels);
    stored_.resize(levels);
    stored_specials_.resize(levels);
    original_[0] = plan.samples;
    specials_[0] = plan.specials();
    for (size_t l = 1; l < levels; l++) {
      if (h_.level[l].samples() * h_.batch <= most_stored) {
        stored_[l] = original_[l - 1] ? coarsen(original_[l - 1], l, plan.threads) : gathered(l);
        STZ_FAULT_POINT(coarse_samples, stored_[l].data(), stored_[l].size() * sizeof(S));
        original_[l] = stored_[l].data();
      }
      if (!has_specials_) continue;
      stored_specials_[l] = coarsen(specials_[l - 1], l, plan.threads);
      specials_[l] = stored_specials_[l].data();
    }
    quantizer_ = level_quantizers<S>(header_, levels);
    if (plan.dead_zone)
      for (size_t l = 0; l < levels; l++) set_dead_zone(quantizer_[l], l);
    if (header_.has_fill) keep_off_fill_value();
    for (size_t l = 0; l < levels; l++)
      if (header_.quantizer == QuantizerKind::uniform)
        unit_.push_back(quantizer_[l].level_bound);
      else if (header_.quantizer == QuantizerKind::integer)
        unit_.push_back(std::max(0.5, 0.5 * double(header_.step)));
      else
        unit_.push_back(l == 0 ? ulp_unit() : unit_[0]);
  }
  LevelSource(const LevelSource&) = delete;

  // Includes the axis offsets, and the layers once they are planned.
  const Header& header() const { return header_; }
  void set_layers(Layers layers) { header_.layers = std::move(layers); }
  const Effort& effort() const { return effort_; }
  void set_effort(const Effort& effort) { effort_ = effort; }
  const Hierarchy& hierarchy() const { return h_; }
  const Level& level(size_t l) const { return h_.level[l]; }
  // What earlier arrays had on a level like this one.
  std::vector<const LearnedLevel*> learned(size_t l) const {
    std::vector<const LearnedLevel*> found;
    if (!learned_) return found;
    for (const std::shared_ptr<const LearnedSet>& set : *learned_) {
      if (l >= set->level.size()) continue;
      const LearnedLevel& level = set->level[l];
      if (level.active_mask == h_.level[l].active_mask() && level.split_mask == h_.level[l].split_mask()) found.push_back(&level);
    }
    return found;
  }
  u64 batch() const { return h_.batch; }
  bool has_specials() const { return has_specials_; }
  const std::vector<LiteralElement>& literals() const { return literals_; }
  GridPart<const S> samples(size_t l, u64 item) const { return whole_grid(original_[l] + item * h_.level[l].samples(), h_.level[l]); }
  // The distance between neighbouring samples of level l, in samples of level 0.
  Index units(size_t l) const {
    Index units{1, 1, 1, 1};
    for (size_t finer = 0; finer < l; finer++)
      for (size_t a = 0; a < axes; a++) units[a] <<= h_.level[finer].split[a];
    return units;
  }
  // Copies the samples of a box into `out`. For levels that are not stored.
  GridPart<const S> gather(size_t l, u64 item, const Box& box, Buffer<S>& out) const {
    const Index step = units(l), n = box.size;
    out.resize(size_t(n[0] * n[1] * n[2] * n[3]));
    const GridPart<const S> from = samples(0, item);
    S* o = out.data();
    for_rows(Index{}, {n[0], n[1], n[2], 1}, [&](i64 i, i64 j, i64 k) {
      const S* row = from.at((box.low[0] + i) * step[0], (box.low[1] + j) * step[1], (box.low[2] + k) * step[2], box.low[3] * step[3]);
      for (i64 x = 0; x < n[3]; x++) *o++ = row[x * step[3]];
    });
    return {out.data(), box};
  }
  // Hands over the memory of a coarser level's samples, for its reconstruction. The samples stay readable until they are overwritten.
  Buffer<S> take_samples(size_t l) { return std::move(stored_[l]); }
  GridPart<const u8> specials(size_t l, u64 item) const { return whole_grid(specials_[l] + item * h_.level[l].samples(), h_.level[l]); }
  const Quantizer<S>& quantizer(size_t l) const { return quantizer_[l]; }
  ParameterContext parameter_context(size_t l) const {
    return {h_.level[l].active_mask(), max_model_shift(8 * int(sizeof(CodeOf<S>))), header_.quantizer != QuantizerKind::ulp};
  }
  double unit(size_t l) const { return unit_[l]; }  // half a quantization step, or about that; fits use it

  // A row of a parity class in a grid of samples or special values of one item. The elements are row_stride apart.
  template <class T>
  static const T* row(const GridPart<const T>& grid, const BlockGeometry& g, int cls, const Index& at) {
    Index c;
    for (size_t a = 0; a < axes; a++) c[a] = g.box.low[a] + (g.split_mask >> a & 1 ? 2 * at[a] + (cls >> a & 1) : at[a]);
    return grid.at(c[0], c[1], c[2], c[3]);
  }
  int row_stride(size_t l) const { return h_.level[l].split[3] ? 2 : 1; }

  u64 class_samples(size_t l, int cls) const {
    u64 n = h_.batch;
    for (size_t a = 0; a < axes; a++) {
      u64 extent = u64(h_.level[l].n[a]);
      n *= !h_.level[l].split[a] ? extent : cls >> a & 1 ? extent / 2 : (extent + 1) / 2;
    }
    return n;
  }

  // Loads the special values of a block's classes and of class 0, with the halo.
  void load_specials(BlockWork<S>& work, size_t l, u64 item) const {
    const BlockGeometry& g = work.geometry;
    work.specials.resize(size_t(g.total(g.bytes)));
    std::fill(work.specials.begin(), work.specials.end(), u8(0));
    load_coarse_bytes(g, specials(l + 1, item), work.specials.data());
    for (int c = 0; c < g.classes.count; c++) {
      const int cls = g.classes.mask[c];
      const Index to = g.counts(cls);
      if (to[3] == 0) continue;
      for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
        const u8* from = row(specials(l, item), g, cls, Index{i, j, k, 0});
        u8* out = work.specials.data() + g.start(g.bytes, cls) + g.bytes.at(i, j, k);
        if (row_stride(l) == 1)
          memcpy(out, from, size_t(to[3]));
        else
          for (i64 x = 0; x < to[3]; x++) out[x] = from[2 * x];
      });
    }
  }
  auto mask_writer(BinaryEncoder& out) const {
    auto bits_of = [this](u64 index) {
      auto it = std::lower_bound(literals_.begin(), literals_.end(), index, [](const LiteralElement& o, u64 i) { return o.index < i; });
      return it != literals_.end() && it->index == index ? it->bits : 0;
    };
    return MaskWriter<decltype(bits_of)>{out, bits_of, int(8 * component_size(header_.layout.dtype))};
  }

 private:
  static Header with_form(const Plan<S>& plan, const SectionForm& form) {
    Header h = plan.header;
    h.offset = form.offset;
    const Hierarchy hierarchy = hierarchy_of(h);
    const double ratio = form.level_ratio > 0 ? form.level_ratio : plan.level_ratio;
    if (ratio != default_level_ratio && plan.takes_level_bounds())
      h.level_bound = falling_bounds(h.half_step, ratio, hierarchy.level.size());
    for (int l = 0; form.larger_blocks && l < hierarchy.base_level; l++) {
      const Level& level = hierarchy.level[size_t(l)];
      h.level_block.push_back(larger_block(level, default_block(level, l, h.block), form.larger_blocks));
    }
    return h;
  }

  // Finds the range of octaves that decode to the fill value. False if there are none.
  bool octaves_of_fill_value(S& from, S& to) const {
    using Limits = std::numeric_limits<S>;
    const i32 dtype = header_.layout.dtype;
    const double smallest = std::numeric_limits<double>::min();  // smallest magnitude that octaves decode to
    const double fill = number_of(dtype, header_.fill), v = __builtin_fabs(fill);
    if (!(v >= smallest && v < __builtin_inf()) || (fill < 0) != header_.negative) return false;
    const double below = v - __builtin_fabs(number_of(dtype, header_.fill - 1));  // distance to the next number towards zero
    const double margin = 1.5 * below / v + 2e-12;                                // rounding errors of the type and of the logarithm
    const bool largest = !(__builtin_fabs(number_of(dtype, header_.fill + 1)) < __builtin_inf());
    from = v == smallest ? Limits::lowest() : S(octaves_of(v) - margin);
    to = largest ? Limits::max() : S(octaves_of(v) + margin);
    return true;
  }

  // Keeps quantizers from reconstructing valid samples as the fill value. Lossless coding never does that.
  void keep_off_fill_value() {
    const i32 dtype = header_.layout.dtype;
    if (header_.quantizer != QuantizerKind::uniform && header_.step == 1) return;
    S from, to;
    if (header_.transform == Transform::logarithmic) {
      if (!octaves_of_fill_value(from, to)) return;
    } else {
      from = to = sample_of<S>(header_, header_.fill);
      if (!is_floating(dtype)) {  // reconstructions outside the type's range are clamped
        using Limits = std::numeric_limits<S>;
        const S fill = from, around = header_.quantizer == QuantizerKind::uniform ? S(0.5) : S(0);  // half the range that rounds to it
        from = fill == Limits::lowest() || bits_of<S>(header_, fill - S(1)) == header_.fill ? Limits::lowest() : fill - around;
        to = fill == Limits::max() || bits_of<S>(header_, fill + S(1)) == header_.fill ? Limits::max() : fill + around;
      }
    }
    for (Quantizer<S>& q : quantizer_) {
      q.avoid_from = from;
      q.avoid_to = to;
      if constexpr (std::is_floating_point_v<S>) {
        q.fast.avoid_from = from;
        q.fast.avoid_to = to;
      }
    }
  }

  template <class T>
  Buffer<T> coarsen(const T* finer, size_t l, int threads) const {
    STZ_STAGE(coarsen);
    const Level &from = h_.level[l - 1], &to = h_.level[l];
    Buffer<T> out(to.samples() * h_.batch);
    const u64 rows = u64(to.n[0] * to.n[1] * to.n[2]) * h_.batch, rows_per_task = items_per_task(u64(to.n[3]));
    // Long rows are cut: their length may exceed an int. Even, as pieces of a row of the finer level.
    constexpr i64 piece = 1 << 16;
    struct Row {
      Buffer<T> unused;
    };
    parallel_for<Row>((rows + rows_per_task - 1) / rows_per_task, threads, [&](Row& worker, u64 task) {
      worker.unused.resize(size_t(piece / 2) + row_slack);
      auto at = [&](size_t a, i64 v) { return from.split[a] ? 2 * v : v; };
      for (u64 r = task * rows_per_task; r < std::min(rows, (task + 1) * rows_per_task); r++) {
        i64 rest = i64(r);
        const i64 k = rest % to.n[2], j = (rest /= to.n[2]) % to.n[1], i = (rest /= to.n[1]) % to.n[0], item = rest / to.n[0];
        const T* row = finer + u64(item) * from.samples() + ((at(0, i) * from.n[1] + at(1, j)) * from.n[2] + at(2, k)) * from.n[3];
        T* o = out.data() + r * u64(to.n[3]);
        if (!from.split[3])
          memcpy(o, row, size_t(to.n[3]) * sizeof(T));
        else if constexpr (sizeof(T) == 1)
          for (i64 x = 0; x < to.n[3]; x++) o[x] = row[2 * x];
        else
          for (i64 x = 0; x < from.n[3]; x += piece)
            row_kernels<T>().separate(row + x, int(std::min(piece, from.n[3] - x)), o + x / 2, worker.unused.data());
      }
    });
    return out;
  }

  Buffer<S> gathered(size_t l) const {
    Buffer<S> all(h_.level[l].samples() * h_.batch), one;
    for (u64 item = 0; item < h_.batch; item++) {
      gather(l, item, {{}, h_.level[l].n}, one);
      std::copy(one.begin(), one.end(), all.data() + item * h_.level[l].samples());
    }
    return all;
  }

  // The unit of fits when samples are coded in ULP space: a few ulp of their mean magnitude.
  double ulp_unit() const {
    u64 n = h_.level[0].samples() * h_.batch, step = std::max<u64>(1, n / 1000), count = 0;
    double sum = 0;
    for (u64 i = 0; i < n; i += step) {
      double v = __builtin_fabs(double(original_[0][i]));
      if (v < 1e300 && !(has_specials_ && specials_[0][i])) sum += v, count++;
    }
    double mean = count ? sum / double(count) : 1;
    return std::max(mean * (sizeof(Real) == 4 ? 6e-8 : 1.1e-16) * double(header_.step), 1e-300);
  }

  Header header_;
  const Hierarchy h_;
  Effort effort_;
  const LearnedSets* const learned_;
  const std::vector<LiteralElement>& literals_;
  const bool has_specials_;
  std::vector<const S*> original_;
  std::vector<const u8*> specials_;
  std::vector<Buffer<S>> stored_;
  std::vector<Buffer<u8>> stored_specials_;
  std::vector<Quantizer<S>> quantizer_;
  std::vector<double> unit_;
};

// The results of an encoded level that the next finer level needs.
template <class S>
struct LevelState {
  Buffer<S> grid;         // its reconstruction, all items
  Buffer<u8> activities;  // and the activities of its codes
  ParameterState parameters;
};

}  // namespace stz
