// Collects the codes of blocks in the streams of their level. For one thread. Encoder only.
#pragma once
#include "base/faults.h"
#include "encoder/block/split_codes.h"
#include "encoder/fit/fit_level.h"
#include "encoder/write/code_stream_encoder.h"

namespace stz {

template <class S>
class CodeCollector {
 public:
  // `parameters`, `refinements`: of the level; must outlive this object. `merged`: the classes of a block share one stream. `alone`: the
  // level has few streams.
  void start(const ClassParameters* parameters, const std::vector<FittedRefinement>& refinements, bool merged, bool alone) {
    parameters_ = parameters;
    refinements_ = &refinements;
    merged_ = merged;
    if (!coders_.empty()) return;
    coders_ = std::vector<CodeStreamEncoder>(1 + refinements.size());
    for (CodeStreamEncoder& coder : coders_) {
      coder.set_many_lanes(!refinements.empty());
      coder.set_alone(alone);
    }
  }
  // The streams of the level's section, and of a refinement.
  CodeStreamEncoder& of_section() { return coders_[0]; }
  CodeStreamEncoder& of_refinement(size_t r) { return coders_[1 + r]; }

  // Adds the codes of a block. Class c goes to stream `first` + c; merged classes all go to stream `first`. `ready`: a box that already has
  // the contexts of each class, or null.
  void collect(int first, BlockWork<S>& work, const SampledBox<S>* ready) {
    const BlockGeometry& g = work.geometry;
    for (int c = 0; c < g.classes.count; c++) {
      const int cls = g.classes.mask[c];
      const ClassParameters& p = parameters_[cls];
      const size_t n = size_t(g.samples(cls));
      if (!n) continue;
      const int stream = merged_ ? first : first + c;
      pass_fault_points(work, cls, n);
      if (p.mean) {
        if (!ready) class_contexts(work, cls, p, context_);
        STZ_FAULT_POINT_UP_TO(contexts, (ready ? ready->context[cls] : context_).data(), n, contexts - 1);
        add(of_section(), stream, work.codes[cls], (ready ? ready->context[cls] : context_).data(), n, p.model);
      }
      if (p.unknown_bits) refine(stream, work, ready, c);
    }
  }

 private:
  static constexpr int width = 8 * int(sizeof(S));
  // Excludes bytes of 255 and the largest negative number: they announce entries of lists, and a fault would add none.
  static void pass_fault_points([[maybe_unused]] BlockWork<S>& work, [[maybe_unused]] int cls, [[maybe_unused]] size_t n) {
    STZ_FAULT_POINT(activities, work.activities.data(), work.activities.size());
    if (work.codes[cls].as_bytes)
      STZ_FAULT_POINT_UP_TO(indices, work.codes[cls].bytes.data(), n, byte_escape - 1);
    else
      STZ_FAULT_POINT_UP_TO(indices, work.codes[cls].numbers.data(), n * sizeof(CodeOf<S>), 127);
  }
  static void add(CodeStreamEncoder& coder, int stream, const ClassCodes<CodeOf<S>>& codes, const u8* context, size_t n,
                  const Model* models) {
    coder.select(stream);
    if (codes.as_bytes)
      coder.add_bytes(codes.bytes.data(), context, n, models, codes.wide_codes, width);
    else
      coder.add_class(codes.numbers.data(), context, n, models, codes.outliers, width);
  }
  // Adds what the refinements add to the c-th class of a block.
  void refine(int stream, BlockWork<S>& work, const SampledBox<S>* ready, int c) {
    const int cls = work.geometry.classes.mask[c];
    const size_t n = size_t(work.geometry.samples(cls));
    int mean = parameters_[cls].mean;
    if (c == 0 && !ready) start_refined_activities(work, refinements_->size());
    for (size_t r = 0; r < refinements_->size(); r++) {
      const FittedRefinement& refinement = (*refinements_)[r];
      if (!refinement.any()) continue;
      const ClassParameters& p = refinement.parameters[cls];
      if (!ready) refined_contexts(work, r, cls, parameters_[cls], context_);
      const u8* context = (ready ? ready->refined_context[r][size_t(cls)] : context_).data();
      refine_codes(work.whole_codes[cls], context, n, refinement.before, refinement.after, refined_);
      if (refined_.codes.as_bytes) STZ_FAULT_POINT_UP_TO(refined_indices, refined_.codes.bytes.data(), n, byte_escape - 1);
      STZ_FAULT_POINT(refined_indices, refined_.bits.data(), refined_.codes.as_bytes ? refined_.count : 0);
      if (p.mean) add(of_refinement(r), stream, refined_.codes, refined_.context.data(), n, p.model);
      of_refinement(r).select(stream);
      if (refined_.codes.as_bytes)
        of_refinement(r).add_fields(refined_.bits.data(), refined_.count, refined_.width);
      else
        of_refinement(r).add_fields(refined_.long_bits.data(), refined_.count, refined_.width);
      mean = refined_mean(mean, refinement.before - refinement.after, p.mean);
      if (!ready && c + 1 < work.geometry.classes.count) refine_activities(work, r, cls, refinement.after, mean);
    }
  }

  const ClassParameters* parameters_ = nullptr;
  const std::vector<FittedRefinement>* refinements_ = nullptr;
  bool merged_ = false;
  std::vector<CodeStreamEncoder> coders_;
  Buffer<u8> context_;
  RefinedCodes<CodeOf<S>> refined_;
};

}  // namespace stz
