// What encoder and decoder do alike with one block: predict a parity class, form contexts and activities.
#pragma once
#include <algorithm>

#include "base/buffer.h"
#include "coding/quantize.h"
#include "format/layers.h"
#include "predict/parameters.h"

namespace stz {

// How a class of a block is predicted and what its contexts see, laid out for the block's geometry.
template <class S>
struct ClassPlan {
  bool made = false;
  LaidOut taps;                   // of the prediction
  int groups = 0;                 // that are used
  bool linear = true;             // else the median of the taps
  RealOf<S> weights[max_groups];  // of sums of groups
  LaidOut cubic, context;         // the standard stencil in the array of values; what contexts see in that of bytes
  const u16* context_weights;

  void make(const BlockGeometry& g, int cls, const ClassParameters& p);
  TapTable table() const { return taps.table(groups); }
  const RealOf<S>* weights_or_null() const { return linear ? weights : nullptr; }
  void predict(const S* samples, int n, RealOf<S>* out) const {
    if (linear)
      row_kernels<S>().predict(samples, table(), weights, n, out);
    else
      row_kernels<S>().median(samples, taps.offset.data(), taps.taps[0], n, out);
  }
};

// The codes (quantization indices) of a class in raster order: bytes where nearly all are small, else numbers.
template <class Code>
struct ClassCodes {
  bool as_bytes = false;
  Buffer<u8> bytes;
  std::vector<WideCode> wide_codes;  // of the bytes
  Buffer<Code> numbers;
  std::vector<Outlier> outliers;  // of the numbers
};

// Arrays of one block. Class arrays of values, activities and special values have a halo (see block.h); codes and masks of a class are
// contiguous in raster order and may be read row_slack elements beyond their end.
template <class S>
struct BlockWork {
  using Code = CodeOf<S>;
  BlockGeometry geometry{};
  Buffer<S> values;
  Buffer<u8> activities;
  ClassCodes<Code> codes[16];
  // Encoder, of levels with refinements: with the bits that `codes` leave out; with some of them.
  ClassCodes<Code> whole_codes[16], refined_codes;
  std::vector<Buffer<u8>> refined_activities;  // of each refinement, as `activities`
  Buffer<u8> masks[16];                        // empty: no sample of the class is masked
  Buffer<u8> specials;                         // empty if nothing is masked
  ClassPlan<S> plans[16];
  Buffer<i16> history[16], zeros, feedback_shorts;  // see feedback.h
  Buffer<RealOf<S>> feedback_reals;
  Buffer<FailedSample<RealOf<S>>> failed;  // encoder

  // Plans stay if the layout does: use one BlockWork for the blocks of one level.
  void prepare(const Level& level, const Box& box, StencilId reach) {
    const BlockGeometry next = block_geometry(level, box, reach);
    if (!next.same_layout(geometry))
      for (auto& plan : plans) plan.made = false;
    geometry = next;
    values.resize(size_t(geometry.total(geometry.values)));
    activities.resize_defined(size_t(geometry.total(geometry.bytes)));
    for (int c = 0; c < geometry.classes.count; c++) {
      const int cls = geometry.classes.mask[c];
      masks[cls].clear();
      codes[cls].wide_codes.clear();
      codes[cls].outliers.clear();
    }
    specials.clear();
  }
  const ClassPlan<S>& plan(int cls, const ClassParameters& p) {
    if (!plans[cls].made) plans[cls].make(geometry, cls, p);
    return plans[cls];
  }
  S* first(int cls) { return values.data() + geometry.start(geometry.values, cls); }
  u8* first_activity(int cls) { return activities.data() + geometry.start(geometry.bytes, cls); }
  const u8* mask_or_null(int cls) const { return masks[cls].empty() ? nullptr : masks[cls].data(); }
  Code* numbers(int cls) {
    codes[cls].as_bytes = false;
    codes[cls].numbers.resize(geometry.samples(cls) + row_slack);
    return codes[cls].numbers.data();
  }
  u8* bytes(int cls) {
    codes[cls].as_bytes = true;
    codes[cls].bytes.resize(geometry.samples(cls) + row_slack);
    return codes[cls].bytes.data();
  }
  // Masks of all classes from `specials`.
  void set_masks();
};

// Classes whose mean is at most this have byte indices: about one Laplace code in 3000 is wide.
constexpr int largest_byte_mean = 97;
template <class S>
bool may_use_byte_indices(const Quantizer<S>& q, int mean) {
  return std::is_floating_point_v<S> && q.kind == QuantizerKind::uniform && !q.half && q.fast.safe > 0 && mean <= largest_byte_mean;
}

// The mean of the codes of a class with all their bits.
inline int whole_mean(const ClassParameters& p) {
  constexpr int few = 81 - 4 * 3;  // what counts where the section has only zeros
  if (!p.unknown_bits) return p.mean;
  return p.unknown_bits > largest_byte_bits ? largest_mean : (p.mean ? p.mean : few) + 4 * p.unknown_bits;
}
template <class S>
bool uses_byte_indices(const Quantizer<S>& q, const ClassParameters& p) {
  return may_use_byte_indices(q, whole_mean(p)) && !p.feedback.all_codes;
}

// Calls row(samples, prediction, n, index, at) for every row of a class; `samples` points at the first one in the value array, `index` is
// its number in raster order, `at` its index along the axes.
template <class S, class F>
void for_predicted_rows(BlockWork<S>& work, int cls, const ClassParameters& p, F row) {
  const BlockGeometry& g = work.geometry;
  Index to = g.counts(cls);
  const int n = int(to[3]);
  if (n == 0) return;
  const ClassPlan<S>& plan = work.plan(cls, p);
  Buffer<RealOf<S>> prediction(size_t(n + row_slack));
  size_t index = 0;
  for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
    S* samples = work.first(cls) + g.values.at(i, j, k);
    plan.predict(samples, n, prediction.data());
    row(samples, prediction.data(), n, index, Index{i, j, k, 0});
    index += size_t(n);
  });
}

// The task of the class kernels; not for i64 samples.
template <class S>
ClassTask<S> class_task(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q) {
  const ClassPlan<S>& plan = work.plan(cls, p);
  return {work.first(cls), work.geometry.rows(work.geometry.values, cls), plan.table(), plan.weights_or_null(), q.fast};
}

// The same for one plane along the first axis of the block that has more than one sample; `first`: raster index of its first sample.
template <class T>
struct PlaneTask {
  ClassTask<T> task;
  u32 first;
};
template <class T>
PlaneTask<T> plane_task(BlockWork<T>& work, int cls, const ClassParameters& p, const Quantizer<T>& q, int axis, i64 plane) {
  PlaneTask<T> t{class_task(work, cls, p, q), 0};
  t.task.samples += plane * t.task.rows.stride[axis];
  t.task.rows.n[axis] = 1;
  t.first = u32(u64(plane) * u64(t.task.rows.n[0]) * u64(t.task.rows.n[1]) * u64(t.task.rows.n[2]) * u64(t.task.rows.n[3]));
  return t;
}

// Contexts of a class, raster order, from the activity of the neighbourhood in the classes before it. `context` has row_slack elements
// more.
template <class S>
void class_contexts(BlockWork<S>& work, int cls, const ClassParameters& p, Buffer<u8>& context);

// Adds |code| of all codes but those of outliers to the sums that a mean is made of.
template <class Code>
void add_code_sizes(const ClassCodes<Code>& codes, size_t n, u64& sum, u64& count);
template <class Code>
void add_code_sizes(const Code* code, size_t n, u64& sum, u64& count) {
  for (size_t i = 0; i < n; i++) {
    if (code[i] == outlier_code<Code>) continue;
    u64 a = zigzag(code[i]) / 2 + (code[i] < 0);
    sum += a < (u64(1) << 40) ? a : u64(1) << 40;
    count++;
  }
}

template <class Code>
void add_code_sizes(const ClassCodes<Code>& codes, size_t n, u64& sum, u64& count) {
  if (!codes.as_bytes) return add_code_sizes(codes.numbers.data(), n, sum, count);
  u64 total = 0;
  for (size_t i = 0; i < n; i++) total += (u64(codes.bytes[i]) + 1) >> 1;
  sum += total;
  count += n;
  for (const WideCode& e : codes.wide_codes) {
    sum -= (byte_escape + 1) >> 1;
    if (e.code == outlier_mark)
      count--;
    else
      sum += u64(e.code < 0 ? -e.code : e.code);
  }
}

// Masked samples take part in later predictions, so they get a likely value: the mean of their nearest valid neighbours among coarser
// samples and earlier classes (of all nearest ones if none is valid). Rows from `from` up to `to` of a class, whole along axis 3.
template <class S>
void fill_masked_rows(const BlockGeometry& g, int cls, const u8* specials, const Index& from, const Index& to, S* values);
// The same once a block is complete, over face neighbours of the level inside the block, spreading two samples far. `grid` and `specials`:
// parts of the level's samples and special values that have the block.
template <class S>
void fill_masked_box(const Box& box, const GridPart<const u8>& specials, const GridPart<S>& grid);

// What follows when the samples of a class are reconstructed, unless nothing depends on them: masked ones, ghost planes and halo.
template <class S>
void complete_class(BlockWork<S>& work, int cls, const ClassParameters& p) {
  const BlockGeometry& g = work.geometry;
  if (work.mask_or_null(cls)) fill_masked_rows(g, cls, work.specials.data(), Index{}, g.counts(cls), work.values.data());
  fill_halo_of_class(g, cls, work.plan(cls, p).cubic, work.values.data());
}

constexpr u8 mean_activity = 16;  // what a masked sample counts in contexts

// Activities of a class from its codes, with halo.
template <class S>
void class_activities(BlockWork<S>& work, int cls, int mean);

// The contexts of a refinement come from class 0 as it is and, of the classes of the level, from codes with this refinement. Before the
// first class:
template <class S>
void start_refined_activities(BlockWork<S>& work, size_t refinements) {
  work.refined_activities.resize(refinements);
  for (Buffer<u8>& activities : work.refined_activities) {
    activities.resize_defined(work.activities.size());
    memcpy(activities.data(), work.activities.data(), work.activities.size());
  }
}
// As class_contexts() and class_activities(), of a refinement.
template <class S>
void refined_contexts(BlockWork<S>& work, size_t refinement, int cls, const ClassParameters& p, Buffer<u8>& context) {
  std::swap(work.activities, work.refined_activities[refinement]);
  class_contexts(work, cls, p, context);
  std::swap(work.activities, work.refined_activities[refinement]);
}
template <class S>
void refine_activities(BlockWork<S>& work, size_t refinement, int cls, int mean) {
  std::swap(work.activities, work.refined_activities[refinement]);
  class_activities(work, cls, mean);
  std::swap(work.activities, work.refined_activities[refinement]);
}
// The mean of codes with a refinement that adds so many bits: of what codes were before, and of what it makes of those that were zero.
inline int refined_mean(int before, int added_bits, int of_zeros) {
  return std::max(before ? std::min(before + 4 * added_bits, largest_mean) : 0, of_zeros);
}

}  // namespace stz
