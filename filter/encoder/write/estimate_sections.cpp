#include "encoder/write/estimate_sections.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/stages.h"
#include "encoder/block/encode_block.h"
#include "encoder/fit/fit_level.h"
#include "encoder/fit/roughness.h"
#include "encoder/write/encode_base_section.h"
#include "encoder/write/encode_edge.h"
#include "encoder/write/encode_level.h"
#include "format/convert.h"
#include "format/section.h"
#include "masks/content_check.h"
#include "predict/block_rows.h"

namespace stz {
namespace {

constexpr u64 most_exact = u64(1) << 17;  // levels with at most this many samples are coded completely
constexpr int coarse_effort = 2;          // effort for these levels, which hold few of the bytes
// Samples in boxes: of level 0, and the smallest number for coarser levels, each of which has a fourth of the finer one. More are used if
// boxes differ so much that their mean is not known to 5 %.
constexpr u64 finest_samples = u64(1) << 17, fewest_samples = u64(1) << 14, most_samples = u64(1) << 18, edge_samples = u64(1) << 19;
constexpr double wanted_variance = 0.05 * 0.05;
constexpr u64 fitted_samples = 3000, feedback_samples = 4096;  // per class: more change the expected size by less than 0.5 %
constexpr u64 probes = 1024, fewest_probes = 128;              // of the roughness of level 0, and the fewest; half as many for the boxes
constexpr i64 error_step = 13;                                 // the error is measured on every 13th sample of the boxes of level 0
constexpr double bytes_of_merged = 4096;                       // encode_level merges the streams of smaller blocks

// A box of a level as it will be decoded.
template <class S>
struct CodedPart {
  Buffer<S> values;
  Buffer<u8> activities;
  GridPart<const S> grid;
  GridPart<const u8> grid_activities;
};

// The box of the coarser level that a box of `level` is predicted from.
Box surroundings(const Level& level, const Level& coarser, const Box& box, StencilId reach, bool masked) {
  constexpr i64 spread_of_masked = 2;  // fill_masked_box
  Box around;
  for (size_t a = 0; a < axes; a++) {
    const bool halo = level.n[a] > 1;
    const i64 unit = level.split[a] ? 2 : 1, farther = masked && halo ? spread_of_masked : 0;
    const i64 low = box.low[a] / unit - (halo ? reach_below(reach) : 0) - farther;
    const i64 high = (box.low[a] + box.size[a] + unit - 1) / unit + (halo ? reach_above(reach) : 0) + farther;
    around.low[a] = std::max<i64>(0, low);
    around.size[a] = std::min(coarser.n[a], high) - around.low[a];
  }
  return around;
}

// The smallest box that contains `box` and can be coded on its own.
Box codable(const Level& level, const Box& box) {
  Box all;
  for (size_t a = 0; a < axes; a++) {
    const i64 unit = level.split[a] ? 2 : 1, high = box.low[a] + box.size[a];
    all.low[a] = box.low[a] / unit * unit;
    all.size[a] = std::min(level.n[a], (high + unit - 1) / unit * unit) - all.low[a];
  }
  return all;
}

// The lower or upper half of a box along its longest axis.
Box half_of(const Level& level, Box box, bool upper) {
  const size_t axis = size_t(std::max_element(box.size.begin(), box.size.end()) - box.size.begin());
  const i64 half = box.size[axis] / 4 * 2;
  if (half == 0) return box;
  box.low[axis] += upper ? half : 0;
  box.size[axis] = upper ? box.size[axis] - half : half;
  return codable(level, box);
}

// The bytes of a stream beyond its codes: states of lanes minus what these hold, check, and size in the index.
double stream_overhead(double bytes, bool own_check) {
  constexpr double state = 3, size_in_index = 1.2;
  const int log2_lanes = bytes > 12000 ? 5 : bytes > 2500 ? 4 : bytes > 800 ? 2 : 0;  // as CodeStreamEncoder chooses
  return state * (1 << log2_lanes) + (log2_lanes != 0) + (own_check ? double(check_size(size_t(bytes))) : 0) + size_in_index;
}

double volume(const Box& box) { return double(box.size[0]) * double(box.size[1]) * double(box.size[2]) * double(box.size[3]); }

// Estimates the sections of the levels that are not coded completely, coarse to fine.
template <class S>
class SectionEstimator {
 public:
  // `state`: of the finest level that was coded completely, `exact_level`. Finer levels build on its parameters.
  SectionEstimator(LevelSource<S>& source, LevelState<S>& state, size_t exact_level, bool edge, int threads)
      : source_(source), state_(state), exact_level_(exact_level), edge_(edge), threads_(threads) {}

  // Adds the section of a level to the estimate. Returns its expected size.
  u64 add_section(size_t l, SizeEstimate& sum) {
    STZ_STAGE(fit);
    const Level& level = source_.level(l);
    const double variance = place_boxes(l);
    const double bytes = edge_ ? edge_bytes(l) : code_bytes(l);
    const double mask = source_.has_specials() ? double(block_count(level) * source_.batch()) : 0;  // at least a byte per block
    sum.bytes += bytes + mask;
    sum.variance += variance * bytes * bytes;
    if (l == 0) sum.squared_error = squared_error();
    return u64(bytes + mask);
  }

 private:
  // Places the boxes of a level. Returns the relative variance of the mean of their roughness.
  double place_boxes(size_t l) {
    const Level& level = source_.level(l);
    const Roughness<S> roughness(source_, l);
    const u64 first = edge_ ? edge_samples : std::min(box_samples(l), source_.effort().boxed_samples);
    // Coarser levels hold fewer of the bytes.
    const double wanted = wanted_variance * double(u64(1) << std::min<size_t>(32, 4 * l));
    double variance;
    for (u64 samples = first, places = std::max(fewest_probes, probes >> 2 * l);; samples *= 2, places *= 2) {
      level_[l].boxes = sample_boxes(source_, l, samples);
      const RoughnessSum inside = roughness.of_boxes(level_[l].boxes, places / 2, variance);
      if (variance >= wanted && 2 * samples <= std::min(most_samples, level.samples() * source_.batch())) continue;
      const RoughnessSum all = roughness.of_level(places);
      place_factor_ = all.mean() > 0 && inside.mean() > 0 ? all.mean() / inside.mean() : 1;
      return variance;
    }
  }
  static u64 box_samples(size_t l) { return std::max(fewest_samples, finest_samples >> 2 * l); }

  // Prepares a box with its samples and what a decoder will have of the coarser level.
  void prepare(size_t l, SampledBox<S>& box, StencilId reach) {
    Buffer<S> samples;
    const CodedPart<S> part = coded(l + 1, box.item, around(l, box.place, reach));
    const GridPart<const S> own = l ? source_.gather(l, box.item, box.place, samples) : source_.samples(0, box.item);
    prepare_box(source_, {part.grid, part.grid_activities, own}, l, box.item, box.place, reach, box.work);
  }
  Box around(size_t l, const Box& box, StencilId reach) const {
    return surroundings(source_.level(l), source_.level(l + 1), box, reach, source_.has_specials());
  }

  double code_bytes(size_t l) {
    const Level& level = source_.level(l);
    FittedLevel<S>& fitted = level_[l];
    for (SampledBox<S>& box : fitted.boxes) prepare(l, box, widest_stencil(level));
    fit_boxes(source_, state_.parameters, l, threads_, fitted);
    const ParityClasses classes = parity_classes_of(level.split_mask());
    double bits = 0;
    for (int c = 0; c < classes.count; c++) bits += fitted.class_bits[classes.mask[c]] * valid_share(l, classes.mask[c]);
    const double bytes = bits / 8 * place_factor_, blocks = double(block_count(level) * source_.batch());
    const double streams = bytes < bytes_of_merged * blocks ? blocks : blocks * classes.count;
    return bytes + streams * stream_overhead(bytes / streams, bytes > double(covered_streams)) + parameter_bytes(l);
  }

  // A block in edge mode starts with fresh models and has faces, so its bytes are a constant part plus a part per sample. Boxes and halves
  // of them separate the two.
  double edge_bytes(size_t l) {
    const Level& level = source_.level(l);
    std::vector<SampledBox<S>>& boxes = level_[l].boxes;
    double bytes = 0, of_halves = 0, samples = 0;
    for (size_t b = 0; b < boxes.size(); b++) {
      SampledBox<S> half{boxes[b].item, half_of(level, boxes[b].place, b % 2), {}, {}, {}};
      of_halves += edge_bytes_of(l, half);
      bytes += edge_bytes_of(l, boxes[b]);
      samples += volume(boxes[b].place);
    }
    const double count = double(boxes.size()), to_start = std::max(0.0, std::min(2 * of_halves - bytes, bytes)) / count;
    constexpr double overhead = 6;  // of a stream, and of the section
    const double streams = double(block_count(level) * source_.batch());
    return (bytes - count * to_start) / samples * double(level.samples() * source_.batch()) + streams * to_start + overhead * (streams + 1);
  }
  double edge_bytes_of(size_t l, SampledBox<S>& box) {
    prepare(l, box, stencil_standard);
    return double(write_edge_block(source_.quantizer(l), box.work, edge_work_).size());
  }

  // Codes the part of a level that contains the box `needed`, with everything it depends on.
  CodedPart<S> coded(size_t l, u64 item, const Box& needed) {
    CodedPart<S> part;
    const Level& level = source_.level(l);
    if (l >= exact_level_) {
      const u64 first = item * level.samples();
      part.grid = whole_grid<const S>(state_.grid.data() + first, level);
      part.grid_activities = whole_grid<const u8>(state_.activities.data() + first, level);
      return part;
    }
    const Box box = codable(level, needed);
    const StencilId reach = widest_stencil(level);
    BlockWork<S> work;
    const CodedPart<S> coarser = coded(l + 1, item, around(l, box, reach));
    const GridPart<const S> own = source_.gather(l, item, box, part.values);
    prepare_box(source_, {coarser.grid, coarser.grid_activities, own}, l, item, box, reach, work, edge_);
    if (edge_)
      write_edge_block(source_.quantizer(l), work, edge_work_);
    else
      code_block(source_, own, l, level_[l].parameters, work, nullptr);
    part.activities.resize(part.values.size());
    const GridPart<S> values{part.values.data(), box};  // overwrites the samples, which are coded by now
    const GridPart<u8> activities{part.activities.data(), box};
    store_block(work.geometry, work.values.data(), values);
    if (source_.has_specials()) fill_masked_box(box, source_.specials(l, item), values);
    store_block_bytes(work.geometry, work.activities.data(), activities);
    part.grid = values;
    part.grid_activities = activities;
    return part;
  }

  // The share of samples of a class that are not masked.
  double valid_share(size_t l, int cls) const {
    if (!source_.has_specials()) return 1;
    const Level& level = source_.level(l);
    Index count, step;
    for (size_t a = 0; a < axes; a++) {
      const bool odd = cls >> a & 1;
      step[a] = level.split[a] ? 2 : 1;
      count[a] = (level.n[a] - odd + step[a] - 1) / step[a];
    }
    u64 valid = 0;
    for (u64 item = 0; item < source_.batch(); item++) {
      const GridPart<const u8> specials = source_.specials(l, item);
      for_rows(Index{}, {count[0], count[1], count[2], 1}, [&](i64 i, i64 j, i64 k) {
        const u8* row = specials.at(i * step[0] + (cls & 1), j * step[1] + (cls >> 1 & 1), k * step[2] + (cls >> 2 & 1), cls >> 3 & 1);
        for (i64 x = 0; x < count[3]; x++) valid += row[x * step[3]] == special_none;
      });
    }
    return double(valid) / double(std::max<u64>(1, source_.class_samples(l, cls)));
  }

  // Writes the parameters of a level; those of the next level build on them.
  double parameter_bytes(size_t l) {
    constexpr double frame = 5;  // their size and the check
    BinaryEncoder out;
    ParameterModels models = fresh<ParameterModels>;
    const ParityClasses classes = parity_classes_of(source_.level(l).split_mask());
    for (int c = 0; c < classes.count; c++)
      write_class(out, models, state_.parameters, classes.mask[c], source_.parameter_context(l), level_[l].parameters[classes.mask[c]]);
    return double(out.finish().size()) + frame;
  }

  // The mean squared error over the boxes of level 0.
  double squared_error() const {
    const Header& h = source_.header();
    const auto bits = [&](S sample) { return bits_of<S>(h, sample); };
    double sum = 0;
    u64 count = 0;
    Buffer<S> values;
    for (const SampledBox<S>& box : level_[0].boxes) {
      const Index &n = box.place.size, &low = box.place.low;
      values.resize(size_t(volume(box.place)));
      store_block(box.work.geometry, box.work.values.data(), GridPart<S>{values.data(), box.place});
      const S* v = values.data();
      for_rows(Index{}, {n[0], n[1], n[2], 1}, [&](i64 i, i64 j, i64 k) {
        const S* x = source_.samples(0, box.item).at(low[0] + i, low[1] + j, low[2] + k, low[3]);
        const u8* special = nullptr;
        if (source_.has_specials()) special = source_.specials(0, box.item).at(low[0] + i, low[1] + j, low[2] + k, low[3]);
        for (i64 at = (v - values.data()) % error_step; at < n[3]; at += error_step) {
          if (special && special[at]) continue;
          const double e = distance_of(h.layout.dtype, bits(x[at]), bits(v[at]));
          sum += e * e;
          count++;
        }
        v += n[3];
      });
    }
    return count ? sum / double(count) : 0;
  }

  LevelSource<S>& source_;
  LevelState<S>& state_;
  const size_t exact_level_;
  const bool edge_;
  const int threads_;
  EdgeWork<S> edge_work_;
  FittedLevel<S> level_[max_levels];
  double place_factor_ = 1;  // cost of a sample of the level relative to a sample in its boxes
};

}  // namespace

template <class S>
Sections<SizeEstimate> estimate_sections(const Plan<S>& plan, const SectionForm& form) {
  Sections<SizeEstimate> result;
  LevelSource<S> source(plan, form, most_exact);
  LevelState<S> state;
  Bytes coarse = encode_base_section(source, state);
  std::vector<u64> sizes{coarse.size()};
  Effort effort = source.effort();
  source.set_effort(effort_of(std::min(coarse_effort, plan.effort ? plan.effort : coarse_effort)));
  size_t l = size_t(source.hierarchy().base_level);
  bool possible = true;
  for (; possible && l > 0 && source.level(l - 1).samples() * source.batch() <= most_exact; l--) {
    const size_t begin = coarse.size();
    possible = encode_level(source, state, l - 1, form.edge, nullptr, plan.threads, coarse);
    sizes.push_back(coarse.size() - begin);
  }
  if (possible) result.out.bytes = double(coarse.size());
  if (possible && l > 0) {
    effort.most_fitted = std::min(effort.most_fitted, fitted_samples);
    effort.feedback_samples = std::min(effort.feedback_samples, feedback_samples);
    source.set_effort(effort);
    SectionEstimator<S> estimator(source, state, l, form.edge, plan.threads);
    while (l-- > 0) sizes.push_back(estimator.add_section(l, result.out));
  }
  result.header = source.header();
  result.header.section = std::move(sizes);
  if (plan.content_check) result.content_checks.resize(checked_blocks(source.hierarchy()));
  return result;
}

template Sections<SizeEstimate> estimate_sections(const Plan<float>&, const SectionForm&);
template Sections<SizeEstimate> estimate_sections(const Plan<double>&, const SectionForm&);
template Sections<SizeEstimate> estimate_sections(const Plan<i64>&, const SectionForm&);

}  // namespace stz
