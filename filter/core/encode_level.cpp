#include "encode_level.h"

#include <algorithm>

#include "choose_models.h"
#include "fit.h"
#include "root.h"
#include "section.h"

namespace stz {
namespace {

// Levels of at most this many samples are coded with exact statistics, larger ones with those of sampled boxes.
constexpr u64 exact_samples = 1u << 20;
constexpr size_t fit_samples = 6000;
constexpr u64 merge_below = 4096;  // blocks expected to be smaller than this get one stream for all classes

u64 lcg(u64& seed) { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; }

template <class S>
class Encoder {
 public:
  using Real = RealOf<S>;
  using Code = CodeOf<S>;

  Encoder(Header& header, const S* samples, const u8* kinds, const std::vector<OtherSample>& others)
      : header_(header), h_(hierarchy_of(header)), others_(others) {
    original_.resize(h_.level.size());
    kinds_.resize(h_.level.size());
    original_[0] = samples;
    has_kinds_ = kinds != nullptr;
    if (kinds) kinds_[0] = kinds;
    stored_.resize(h_.level.size());
    stored_kinds_.resize(h_.level.size());
    for (size_t l = 1; l < h_.level.size(); l++) {
      stored_[l] = coarsen(original_[l - 1], l);
      original_[l] = stored_[l].data();
      if (kinds) {
        stored_kinds_[l] = coarsen(kinds_[l - 1], l);
        kinds_[l] = stored_kinds_[l].data();
      }
    }
    std::vector<double> bounds = level_bounds(header, h_.level.size());
    for (size_t l = 0; l < h_.level.size(); l++) {
      Quantizer<S> q;
      q.half = header.layout.dtype == STZ_F16 && header.transform == Transform::none;
      if (header.quantizer == QuantizerKind::uniform) q.set_uniform(sample_bound(header), bounds[l]);
      q.kind = header.quantizer;
      q.step = header.step;
      q.relative = header.bound;
      q.zero_bits = header.zero_bits;
      quantizer_.push_back(q);
      // the unit of fits: what one code is worth, halved; for ordered integers a few ulp of typical samples
      unit_.push_back(header.quantizer == QuantizerKind::uniform ? bounds[l] : header.quantizer == QuantizerKind::integer ? std::max(0.5, 0.5 * double(header.step)) : 0);
    }
    if (header.quantizer == QuantizerKind::ordered) {
      double unit = ordered_unit();
      for (double& u : unit_) u = unit;
    }
  }

  Bytes run() {
    Bytes out;
    auto append = [&](Bytes section) {
      header_.section.push_back(section.size());
      out.insert(out.end(), section.begin(), section.end());
    };
    header_.section.clear();
    append(encode_root());
    for (int l = h_.root - 1; l >= 0; l--) append(encode_level(size_t(l)));
    return out;
  }

 private:
  template <class T>
  std::vector<T> coarsen(const T* finer, size_t l) const {
    const Level &from = h_.level[l - 1], &to = h_.level[l];
    std::vector<T> out(to.samples() * h_.batch);
    T* o = out.data();
    for (u64 item = 0; item < h_.batch; item++, finer += from.samples())
      for_rows(Index{}, {to.n[0], to.n[1], to.n[2], 1}, [&](i64 i, i64 j, i64 k) {
        auto at = [&](size_t a, i64 v) { return from.split[a] ? 2 * v : v; };
        const T* row = finer + ((at(0, i) * from.n[1] + at(1, j)) * from.n[2] + at(2, k)) * from.n[3];
        const i64 step = from.split[3] ? 2 : 1;
        for (i64 x = 0; x < to.n[3]; x++) *o++ = row[x * step];
      });
    return out;
  }

  // Mean absolute second difference along the last axis would depend on the data's order; a few ulp of the mean magnitude does.
  double ordered_unit() const {
    u64 n = h_.level[0].samples() * h_.batch, step = std::max<u64>(1, n / 1000), count = 0;
    double sum = 0;
    for (u64 i = 0; i < n; i += step) {
      double v = __builtin_fabs(double(original_[0][i]));
      if (v < 1e300 && !(has_kinds_ && kinds_[0][i])) sum += v, count++;
    }
    double mean = count ? sum / double(count) : 1;
    return std::max(mean * (sizeof(Real) == 4 ? 6e-8 : 1.1e-16) * double(header_.step), 1e-300);
  }

  // One row of a class in the original samples (or kinds) of its level.
  template <class T>
  const T* original_row(const T* level_samples, size_t l, u64 item, const BlockGeometry& g, int cls, const Index& at) const {
    const Level& level = h_.level[l];
    Index c;
    for (size_t a = 0; a < axes; a++) c[a] = g.box.low[a] + (level.split[a] ? 2 * at[a] + (cls >> a & 1) : at[a]);
    return level_samples + item * level.samples() + ((c[0] * level.n[1] + c[1]) * level.n[2] + c[2]) * level.n[3] + c[3];
  }
  int row_stride(size_t l) const { return h_.level[l].split[3] ? 2 : 1; }

  // ---------------------------------------------------------------- root

  struct RootWriter {
    Encoder& e;
    BinaryEncoder out;
    RootModels models;
    MaskModels masks;
    u64 item = 0;
    size_t level = 0;
    u64 sizes[2] = {0, 0};
    u8 kind_before = 0;

    void code(Code c, const std::vector<Verbatim>& verbatim, size_t& next) {
      bool stored = c == verbatim_code<Code>;
      out.bit(models.verbatim[0], stored);
      if (stored) write_verbatim(verbatim[next++].bits);
      else out.signed_number(models.code[context()], c);
      remember(stored ? 0 : zigzag(c) / 2);
    }
    void write_verbatim(u64 bits) {
      if (sizeof(S) > 4) out.raw(bits >> 32, 32);
      out.raw(bits & 0xffffffffu, 32);
    }
    size_t context() const { return std::min<size_t>(15, size_t(floor_log2(2 * (sizes[0] + sizes[1]) + 1))); }
    void remember(u64 size) {
      sizes[1] = sizes[0];
      sizes[0] = std::min<u64>(size, 1 << 20);
    }
    void begin_level(int l) { level = size_t(l); }
    void coarsest(u64 i, Real p, Code& c, S& r) {
      u8 kind = 0;
      const u64 at = item * e.h_.level[level].samples() + i;
      if (e.has_kinds_) {
        kind = e.kinds_[level][at];
        Index position;
        u64 rest = i;
        for (size_t a = axes; a-- > 0;) {
          position[a] = i64(rest % u64(e.h_.level[level].n[a]));
          rest /= u64(e.h_.level[level].n[a]);
        }
        LevelMap map = level_map(e.h_, level, item);
        u64 index = map.item;
        for (size_t a = 0; a < axes; a++) index += u64(position[a] * map.step[a]);
        auto writer = e.mask_writer(out);
        writer.code(masks.masked[0][kind_before ? 1 : 0], masks, kind, kind_before, index);
        kind_before = kind;
      }
      u8 masked = kind != 0;
      std::vector<Verbatim> verbatim;
      size_t next = 0;
      quantize_row(e.quantizer_[level], e.original_[level] + at, 1, &p, 1, e.has_kinds_ ? &masked : nullptr, 0, &c, &r, verbatim);
      if (!masked) code(c, verbatim, next);
    }
    void begin_block(BlockWork<S>& work) {
      if (!e.has_kinds_) return;
      e.load_kinds(work, level, item);
      auto writer = e.mask_writer(out);
      code_block_mask(writer, masks, work.geometry, level_map(e.h_, level, item), work.kinds.data());
      work.set_masks();
    }
    void end_level(BlockWork<S>& work, std::vector<S>& grid) {
      const Level& l = e.h_.level[level];
      if (e.has_kinds_) fill_masked_box(work.geometry.box, l.n, e.kinds_[level] + item * l.samples(), grid.data());
    }
    void begin_class(BlockWork<S>& work, int cls) {
      if (cls == work.geometry.classes.mask[0]) begin_block(work);
    }
    void row(BlockWork<S>& work, int cls, S* samples, const Real* p, int n, size_t index, const Index& at) {
      const S* x = e.original_row(e.original_[level], level, item, work.geometry, cls, at);
      Code* c = work.codes[cls].data() + index;
      const u8* masked = work.masks[cls].empty() ? nullptr : work.masks[cls].data() + index;
      size_t next = work.verbatim[cls].size();
      quantize_row(e.quantizer_[level], x, e.row_stride(level), p, n, masked, u32(index), c, samples, work.verbatim[cls]);
      for (int i = 0; i < n; i++)
        if (!masked || !masked[i]) code(c[i], work.verbatim[cls], next);
    }
  };

  auto mask_writer(BinaryEncoder& out) {
    auto bits_of = [this](u64 index) {
      auto it = std::lower_bound(others_.begin(), others_.end(), index, [](const OtherSample& o, u64 i) { return o.index < i; });
      return it->bits;
    };
    return MaskWriter<decltype(bits_of)>{out, bits_of, int(8 * component_size(header_.layout.dtype))};
  }

  // Mask kinds of a block's classes and of class 0, with halo.
  void load_kinds(BlockWork<S>& work, size_t l, u64 item) {
    const BlockGeometry& g = work.geometry;
    work.kinds.assign(size_t(g.total()), 0);
    const Level& coarser = h_.level[l + 1];
    load_coarse_magnitudes(g, kinds_[l + 1] + item * coarser.samples(), coarser.n, work.kinds.data());
    for (int c = 0; c < g.classes.count; c++) {
      int cls = g.classes.mask[c];
      Index to = g.counts(cls);
      for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
        if (to[3] == 0) return;
        const u8* from = original_row(kinds_[l], l, item, g, cls, Index{i, j, k, 0});
        u8* row = work.kinds.data() + g.array(cls) + g.at(i, j, k);
        for (i64 x = 0; x < to[3]; x++) row[x] = from[x * row_stride(l)];
      });
    }
  }

  Bytes encode_root() {
    RootWriter writer{*this, {}, {}, {}};
    std::vector<std::vector<BlockWork<S>>> works(h_.batch);
    std::vector<std::vector<Code>> coarsest_code(h_.batch);
    u64 sum = 0, count = 0;
    const u64 samples = h_.level[size_t(h_.root)].samples();
    grid_.resize(samples * h_.batch);
    for (u64 item = 0; item < h_.batch; item++) {
      std::vector<S> coarsest, grid;
      writer.item = item;
      walk_root<S>(h_, works[item], coarsest, coarsest_code[item], writer, grid);
      std::copy(grid.begin(), grid.end(), grid_.begin() + std::ptrdiff_t(item * samples));
      add_root_codes<S>(works[item], coarsest_code[item], sum, count);
    }
    int mean = mean_index(sum, count);
    if (mean) state_.mean = mean;
    magnitudes_.resize(samples * h_.batch);
    for (u64 item = 0; item < h_.batch; item++) {
      std::vector<u8> grid;
      root_magnitudes<S>(h_, mean, works[item], coarsest_code[item], grid);
      std::copy(grid.begin(), grid.end(), magnitudes_.begin() + std::ptrdiff_t(item * samples));
    }
    Bytes out = writer.out.finish();
    u32 crc = crc32c(out.data(), out.size());
    put_check(out, crc, check_size(out.size()));
    return out;
  }

  // ---------------------------------------------------------------- a level

  void prepare(BlockWork<S>& work, size_t l, u64 item, const Box& box, StencilId reach) {
    work.prepare(h_.level[l], box, reach);
    const Level& coarser = h_.level[l + 1];
    load_coarse(work.geometry, grid_.data() + item * coarser.samples(), coarser.n, work.values.data());
    load_coarse_magnitudes(work.geometry, magnitudes_.data() + item * coarser.samples(), coarser.n, work.magnitudes.data());
    if (has_kinds_) {
      load_kinds(work, l, item);
      for (int c = 0; c < work.geometry.classes.count; c++) close_magnitudes(work.geometry, work.geometry.classes.mask[c], work.kinds.data());
      work.set_masks();
    }
  }

  void code_class(BlockWork<S>& work, size_t l, u64 item, int cls, const ClassParameters& p) {
    const BlockGeometry& g = work.geometry;
    const std::vector<u8>& mask = work.masks[cls];
    for_predicted_rows<S>(g, cls, p, work.values.data(), [&](S* samples, const Real* prediction, int n, size_t index, const Index& at) {
      const S* x = original_row(original_[l], l, item, g, cls, at);
      quantize_row(quantizer_[l], x, row_stride(l), prediction, n, mask.empty() ? nullptr : mask.data() + index, u32(index),
                   work.codes[cls].data() + index, samples, work.verbatim[cls]);
    });
    if (!mask.empty()) fill_masked_class(g, cls, work.kinds.data(), work.values.data());
    close_class(g, cls, work.values.data());
  }

  struct FitBox {
    u64 item;
    BlockWork<S> work;
    bool whole;  // the box is a block
  };

  ClassParameters fit(std::vector<FitBox>& boxes, size_t l, int cls, StencilId widest) {
    ClassParameters p;
    const BlockGeometry& first = boxes[0].work.geometry;
    const int active = first.active_mask;
    FitOptions options;
    Stencil stencil = make_stencil(widest, cls, active);
    options.standard_groups = int(make_stencil(stencil_standard, cls, active).groups.size());
    options.wide_groups = int(make_stencil(stencil_wide, cls, active).groups.size());
    if (widest == stencil_long) options.long_groups = int(stencil.groups.size());
    p.groups = u8(options.standard_groups);
    u64 in_boxes = 0;
    for (FitBox& box : boxes) in_boxes += box.work.geometry.samples(cls);
    if (in_boxes < 48) return p;
    options.class_samples = class_samples(l, cls);
    options.coarser = state_.has_coarser[cls] ? &state_.coarser[cls] : nullptr;
    const size_t want = std::min<u64>(fit_samples, in_boxes);
    FitSamples samples(int(stencil.groups.size()), want);
    // runs of up to 16 samples, spread evenly by number and irregularly by position
    u64 seed = 1;
    constexpr int run = 16;
    const std::ptrdiff_t pitch = run + row_slack;
    const size_t room = size_t(pitch);
    std::vector<Real> sums(room * stencil.groups.size()), median(room), median_faces(room);
    const bool everything = in_boxes <= want;
    u64 attempts = everything ? 1 : 4 * want / run;
    for (u64 t = 0; t < attempts && !samples.full(); t++) {
      for (size_t b = 0; b < boxes.size() && !samples.full(); b++) {
        FitBox& box = boxes[b];
        const BlockGeometry& g = box.work.geometry;
        const Index to = g.counts(cls);
        if (g.samples(cls) == 0) continue;
        LaidOut laid_out = lay_out(g, cls, stencil), near = lay_out_nearest(g, cls, false), faces = lay_out_nearest(g, cls, true);
        auto add = [&](i64 i, i64 j, i64 k, i64 x, int n) {
          S* at = box.work.values.data() + g.array(cls) + g.at(i, j, k) + x;
          const u64 index = u64(((i * to[1] + j) * to[2] + k) * to[3] + x);
          const u8* masked = box.work.masks[cls].empty() ? nullptr : box.work.masks[cls].data() + index;
          row_kernels<S>().group_sums(at, laid_out.table(laid_out.groups), n, sums.data(), pitch);
          row_kernels<S>().median(at, near.offset.data(), int(near.offset.size()), n, median.data());
          row_kernels<S>().median(at, faces.offset.data(), int(faces.offset.size()), n, median_faces.data());
          const S* source = original_row(original_[l], l, box.item, g, cls, Index{i, j, k, 0}) + x * row_stride(l);
          samples.add_run<S>(laid_out, sums.data(), pitch, source, row_stride(l), n, masked, unit_[l], median.data(), median_faces.data());
        };
        if (everything) {
          for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
            for (i64 x = 0; x < to[3]; x += run) add(i, j, k, x, int(std::min<i64>(run, to[3] - x)));
          });
        } else {
          // boxes get runs by their share of the samples
          u64 share = std::max<u64>(1, (want / run * g.samples(cls) + in_boxes / 2) / in_boxes);
          u64 runs = t == 0 ? share : 1;
          for (u64 r = 0; r < runs && !samples.full(); r++) {
            i64 c[axes];
            for (size_t a = 0; a < axes; a++) {
              i64 extent = to[a] - (a == 3 ? std::min<i64>(run, to[3]) - 1 : 0);
              c[a] = i64(lcg(seed) % u64(std::max<i64>(1, extent)));
            }
            add(c[0], c[1], c[2], c[3], int(std::min<i64>(run, to[3] - c[3])));
          }
        }
      }
    }
    return fit_class(samples, options);
  }

  u64 class_samples(size_t l, int cls) const {
    u64 n = h_.batch;
    for (size_t a = 0; a < axes; a++) {
      u64 extent = u64(h_.level[l].n[a]);
      n *= !h_.level[l].split[a] ? extent : cls >> a & 1 ? extent / 2 : (extent + 1) / 2;
    }
    return n;
  }

  std::vector<FitBox> fit_boxes(size_t l, StencilId widest) {
    const Level& level = h_.level[l];
    std::vector<FitBox> boxes;
    const u64 blocks = block_count(level);
    if (level.samples() * h_.batch <= exact_samples) {
      for (u64 item = 0; item < h_.batch; item++)
        for (u64 b = 0; b < blocks; b++) {
          boxes.push_back({item, {}, true});
          prepare(boxes.back().work, l, item, block_box(level, b), widest);
        }
      return boxes;
    }
    int rank = 0;
    for (i64 n : level.n) rank += n > 1;
    const i64 side = rank == 1 ? 8192 : rank == 2 ? 128 : rank == 3 ? 32 : 16;
    // Samples near the faces of the boxes belong to the fit: weights for the inside alone fail at the faces of the blocks.
    u64 volume = 0, seed = 7;
    while (volume < exact_samples) {
      Box box;
      u64 size = 1;
      for (size_t a = 0; a < axes; a++) {
        box.size[a] = std::min(level.n[a], side);
        u64 places = u64(level.n[a] - box.size[a]) / 2 + 1;
        box.low[a] = i64(lcg(seed) % places) * 2;
        size *= u64(box.size[a]);
      }
      u64 item = lcg(seed) % h_.batch;
      boxes.push_back({item, {}, false});
      prepare(boxes.back().work, l, item, box, widest);
      volume += size;
    }
    return boxes;
  }

  Bytes encode_level(size_t l) {
    const Level& level = h_.level[l];
    const ClassList classes = classes_of(level.split_mask());
    int active = 0, rank = 0;
    for (int a = 0; a < axes; a++)
      if (level.n[size_t(a)] > 1) active |= 1 << a, rank++;
    StencilId widest = rank <= 2 ? stencil_long : stencil_wide;
    std::vector<FitBox> boxes = fit_boxes(l, widest);
    const bool exact = boxes[0].whole;
    const int max_shift = max_model_shift(8 * int(sizeof(Code)));

    // parameters, class by class
    BinaryEncoder parameters;
    ParameterModels models;
    ClassParameters p[16];
    double bits = 0;
    std::vector<u8> context;
    ParameterState before = state_;
    for (int c = 0; c < classes.count; c++) {
      const int cls = classes.mask[c];
      p[cls] = fit(boxes, l, cls, widest);
      u64 sum = 0, count = 0;
      static thread_local ClassHistogram histogram;
      memset(histogram, 0, sizeof histogram);
      for (FitBox& box : boxes) {
        code_class(box.work, l, box.item, cls, p[cls]);
        const Code* code = box.work.codes[cls].data();
        const size_t n = size_t(box.work.geometry.samples(cls));
        context.resize(n + row_slack);
        class_contexts(box.work.geometry, cls, box.work.magnitudes.data(), box.work.masks[cls], context.data());
        add_to_histogram(code, context.data(), n, histogram);
        for (size_t i = 0; i < n; i++) {
          if (context[i] == no_context || code[i] == verbatim_code<Code>) continue;
          u64 a = zigzag(code[i]) / 2 + (code[i] < 0);
          sum += std::min<u64>(a, u64(1) << 40);
          count++;
        }
      }
      // a sample of boxes may miss what is rare: a mean of zero is for exact statistics only
      p[cls].mean = mean_index(exact ? sum : std::max<u64>(sum, 1), count);
      if (exact && !p[cls].mean)
        for (FitBox& box : boxes)
          if (!box.work.verbatim[cls].empty()) p[cls].mean = smallest_mean;
      for (FitBox& box : boxes) class_magnitudes(box.work.geometry, cls, box.work.codes[cls].data(), p[cls].mean, box.work.masks[cls], box.work.magnitudes.data());
      double class_bits = p[cls].mean ? choose_models(histogram, state_.models, max_shift, p[cls]) : 0;
      bits += class_bits * double(class_samples(l, cls)) / double(std::max<u64>(1, count));
      ParameterModels scratch_models = models;
      BinaryEncoder scratch;
      write_class(scratch, scratch_models, state_, cls, active, max_shift, p[cls]);  // updates the state
    }
    const u64 blocks = block_count(level) * h_.batch;
    const bool merged = bits / 8 < double(merge_below * blocks);

    // streams
    const bool keep = l > 0;
    std::vector<S> grid;
    std::vector<u8> magnitudes;
    if (keep) {
      grid.resize(level.samples() * h_.batch);
      magnitudes.resize(grid.size());
    }
    StencilId reach = stencil_standard;
    for (int c = 0; c < classes.count; c++) reach = std::max(reach, StencilId(p[classes.mask[c]].stencil));
    Bytes streams;
    std::vector<u64> sizes;
    BlockWork<S> own;
    CodeStreamEncoder coder;
    auto close_stream = [&](size_t from) { sizes.push_back(streams.size() - from); };
    for (u64 item = 0, number = 0; item < h_.batch; item++)
      for (u64 b = 0; b < block_count(level); b++, number++) {
        BlockWork<S>* work = &own;
        if (exact) work = &boxes[size_t(number)].work;
        else {
          prepare(own, l, item, block_box(level, b), reach);
          for (int c = 0; c < classes.count; c++) {
            code_class(own, l, item, classes.mask[c], p[classes.mask[c]]);
            class_magnitudes(own.geometry, classes.mask[c], own.codes[classes.mask[c]].data(), p[classes.mask[c]].mean, own.masks[classes.mask[c]], own.magnitudes.data());
          }
        }
        const BlockGeometry& g = work->geometry;
        if (has_kinds_) {
          size_t from = streams.size();
          bool any = false;
          for (int c = 0; c < classes.count; c++) any |= !work->masks[classes.mask[c]].empty();
          if (any) {
            BinaryEncoder out;
            MaskModels mask_models;
            auto writer = mask_writer(out);
            code_block_mask(writer, mask_models, g, level_map(h_, l, item), work->kinds.data());
            Bytes bytes = out.finish();
            if (bytes.empty()) bytes.push_back(0);
            streams.insert(streams.end(), bytes.begin(), bytes.end());
          }
          close_stream(from);
        }
        size_t from = streams.size();
        for (int c = 0; c < classes.count; c++) {
          const int cls = classes.mask[c];
          const size_t n = size_t(g.samples(cls));
          if (p[cls].mean && n) {
            context.resize(n + row_slack);
            class_contexts(g, cls, work->magnitudes.data(), work->masks[cls], context.data());
            coder.add_class(work->codes[cls].data(), context.data(), n, p[cls].model, work->verbatim[cls], 8 * int(sizeof(S)));
          }
          if (!merged) {
            coder.finish(streams);
            close_stream(from);
            from = streams.size();
          }
        }
        if (merged) {
          coder.finish(streams);
          close_stream(from);
        }
        if (keep) {
          S* target = grid.data() + item * level.samples();
          store_block(g, work->values.data(), level.n, target);
          if (has_kinds_) fill_masked_box(g.box, level.n, kinds_[l] + item * level.samples(), target);
          store_magnitudes(g, work->magnitudes.data(), level.n, magnitudes.data() + item * level.samples());
        }
      }
    grid_ = std::move(grid);
    magnitudes_ = std::move(magnitudes);

    // parameters and index
    state_ = before;
    IndexModels index;
    parameters.bit(index.merged, merged);
    for (int c = 0; c < classes.count; c++) write_class(parameters, models, state_, classes.mask[c], active, max_shift, p[classes.mask[c]]);
    size_t s = 0;
    for (u64 number = 0; number < blocks; number++) {
      if (has_kinds_) parameters.number(index.mask, sizes[s++]);
      if (merged) parameters.number(index.block, sizes[s++]);
      else
        for (int c = 0; c < classes.count; c++) parameters.number(index.stream[c], sizes[s++]);
    }
    Bytes blob = parameters.finish(), section;
    put_varint(section, blob.size());
    section.insert(section.end(), blob.begin(), blob.end());
    const bool covered = streams.size() <= covered_streams;
    Bytes checked = section;
    if (covered) checked.insert(checked.end(), streams.begin(), streams.end());
    put_check(section, crc32c(checked.data(), checked.size()), check_size(checked.size()));
    if (covered) section.insert(section.end(), streams.begin(), streams.end());
    else {
      size_t from = 0;
      for (u64 size : sizes) {
        if (!size) continue;
        section.insert(section.end(), streams.begin() + std::ptrdiff_t(from), streams.begin() + std::ptrdiff_t(from + size));
        put_le<u16>(section, crc16(&streams[from], size));
        from += size;
      }
    }
    return section;
  }

  Header& header_;
  Hierarchy h_;
  const std::vector<OtherSample>& others_;
  std::vector<const S*> original_;
  std::vector<const u8*> kinds_;
  std::vector<std::vector<S>> stored_;
  std::vector<std::vector<u8>> stored_kinds_;
  bool has_kinds_;
  std::vector<Quantizer<S>> quantizer_;
  std::vector<double> unit_;
  std::vector<S> grid_;          // reconstruction of the level above the one being coded, all items
  std::vector<u8> magnitudes_;   // and its magnitudes
  ParameterState state_;
};

}  // namespace

template <class S>
Bytes encode_sections(Header& h, const S* samples, const u8* kinds, const std::vector<OtherSample>& others) {
  return Encoder<S>(h, samples, kinds, others).run();
}
template Bytes encode_sections(Header&, const float*, const u8*, const std::vector<OtherSample>&);
template Bytes encode_sections(Header&, const double*, const u8*, const std::vector<OtherSample>&);
template Bytes encode_sections(Header&, const i64*, const u8*, const std::vector<OtherSample>&);

}  // namespace stz
