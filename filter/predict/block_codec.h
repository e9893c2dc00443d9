// What encoder and decoder share for one block: predicting a parity class, contexts and activities.
#pragma once
#include <algorithm>

#include "base/buffer.h"
#include "coding/quantize.h"
#include "format/layers.h"
#include "predict/parameters.h"

namespace stz {

// The prediction of a class and the neighbours of its contexts, laid out for the block's geometry.
template <class S>
struct ClassPlan {
  bool made = false;
  LaidOut taps;                   // of the prediction
  int groups = 0;                 // number of groups that are used
  bool linear = true;             // false: the median of the taps
  RealOf<S> weights[max_groups];  // of the sums of groups
  LaidOut cubic, context;         // the standard stencil for values; the stencil of contexts for bytes
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

// The codes (quantization indices) of a class in raster order: as bytes if nearly all are small, else as numbers.
template <class Code>
struct ClassCodes {
  bool as_bytes = false;
  Buffer<u8> bytes;
  std::vector<WideCode> wide_codes;  // of the bytes
  Buffer<Code> numbers;
  std::vector<Outlier> outliers;  // of the numbers
};

// The arrays of one block. Class arrays of values, activities and special values have a halo (see block.h). Codes and masks of a class are
// contiguous in raster order; row_slack elements beyond their end may be read.
template <class S>
struct BlockWork {
  using Code = CodeOf<S>;
  BlockGeometry geometry{};
  Buffer<S> values;
  Buffer<u8> activities;
  ClassCodes<Code> codes[16];
  // Encoder, levels with refinements: codes with all their bits, and with some of the bits that `codes` leave out.
  ClassCodes<Code> whole_codes[16], refined_codes;
  std::vector<Buffer<u8>> refined_activities;  // one per refinement, like `activities`
  Buffer<u8> masks[16];                        // empty: the class has no masked sample
  Buffer<u8> specials;                         // empty: nothing is masked
  ClassPlan<S> plans[16];
  Buffer<i16> history[16], zeros, feedback_shorts;  // see feedback.h
  Buffer<RealOf<S>> feedback_reals;
  Buffer<FailedSample<RealOf<S>>> failed;  // encoder

  // Plans are kept if the layout is the same: use one BlockWork for all blocks of a level.
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
  // Sets the masks of all classes from `specials`.
  void set_masks();
};

// Classes with at most this mean use byte codes: about one Laplace-distributed code in 3000 is then wide.
constexpr int largest_byte_mean = 97;
template <class S>
bool may_use_byte_indices(const Quantizer<S>& q, int mean) {
  if constexpr (std::is_floating_point_v<S>)
    return mean <= largest_byte_mean && decoded_by_class_kernels(q);
  else
    return false;
}

// The mean of the codes of a class with all their bits.
inline int whole_mean(const ClassParameters& p) {
  constexpr int few = 81 - 4 * 3;  // used if the section has only zeros
  if (!p.unknown_bits) return p.mean;
  return p.unknown_bits > largest_byte_bits ? largest_mean : (p.mean ? p.mean : few) + 4 * p.unknown_bits;
}
template <class S>
bool uses_byte_indices(const Quantizer<S>& q, const ClassParameters& p) {
  return may_use_byte_indices(q, whole_mean(p)) && !p.feedback.all_codes;
}

// Calls row(samples, prediction, n, index, at) for every row of a class. `samples`: its first sample in the value array; `index`: that
// sample's raster index; `at`: its index along the axes.
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

// The task for the class kernels. Not for i64 samples.
template <class S>
ClassTask<S> class_task(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q) {
  const ClassPlan<S>& plan = work.plan(cls, p);
  return {work.first(cls), work.geometry.rows(work.geometry.values, cls), plan.table(), plan.weights_or_null(), q.fast};
}

// The same for one plane along the block's first axis with more than one sample. `first`: raster index of its first sample.
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

// Computes the contexts of a class in raster order from the activities of neighbours in earlier classes. `context` gets row_slack more
// elements.
template <class S>
void class_contexts(BlockWork<S>& work, int cls, const ClassParameters& p, Buffer<u8>& context);

// Adds |code| of all codes except outliers to the sums for a mean.
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

// Masked samples are used in later predictions, so they get a likely value: the mean of their nearest valid neighbours among coarser
// samples and earlier classes (of all nearest ones if none is valid). Fills rows [from, to) of a class, which are whole along axis 3.
template <class S>
void fill_masked_rows(const BlockGeometry& g, int cls, const u8* specials, const Index& from, const Index& to, S* values);
// The same for a complete block: uses face neighbours on the level inside the block, and spreads up to two samples. `grid` and `specials`:
// parts of the level that contain the block.
template <class S>
void fill_masked_box(const Box& box, const GridPart<const u8>& specials, const GridPart<S>& grid);

// Completes a class whose samples are reconstructed: masked samples, ghost planes and halo. Not needed if nothing depends on the class.
template <class S>
void complete_class(BlockWork<S>& work, int cls, const ClassParameters& p) {
  const BlockGeometry& g = work.geometry;
  if (work.mask_or_null(cls)) fill_masked_rows(g, cls, work.specials.data(), Index{}, g.counts(cls), work.values.data());
  fill_halo_of_class(g, cls, work.plan(cls, p).cubic, work.values.data());
}

constexpr u8 mean_activity = 16;  // activity of a masked sample in contexts

// Computes the activities of a class from its codes, with halo.
template <class S>
void class_activities(BlockWork<S>& work, int cls, int mean);

// Contexts of a refinement depend on class 0 without refinement and on codes of the other classes with it. Call this before the first
// class.
template <class S>
void start_refined_activities(BlockWork<S>& work, size_t refinements) {
  work.refined_activities.resize(refinements);
  for (Buffer<u8>& activities : work.refined_activities) {
    activities.resize_defined(work.activities.size());
    memcpy(activities.data(), work.activities.data(), work.activities.size());
  }
}
// As class_contexts() and class_activities(), for a refinement.
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
// The mean of codes after a refinement that adds `added_bits`. `before`: their mean before. `of_zeros`: mean of what it adds to zero codes.
inline int refined_mean(int before, int added_bits, int of_zeros) {
  return std::max(before ? std::min(before + 4 * added_bits, largest_mean) : 0, of_zeros);
}

}  // namespace stz
