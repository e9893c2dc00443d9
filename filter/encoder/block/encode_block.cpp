#include "encoder/block/encode_block.h"

#include <algorithm>

#include "base/stages.h"
#include "encoder/block/plane_reader.h"
#include "encoder/block/split_codes.h"
#include "predict/feedback.h"

namespace stz {

template <class S>
void prepare_box(const LevelSource<S>& source, const BoxSource<S>& from, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work, bool with_samples) {
  STZ_STAGE(load);
  work.prepare(source.level(l), box, reach);
  const BlockGeometry& g = work.geometry;
  load_coarse(g, from.coarse, work.values.data());
  if (with_samples) load_block(g, from.samples, work.values.data());
  load_coarse_bytes(g, from.coarse_activities, work.activities.data());
  if (!source.has_specials()) return;
  source.load_specials(work, l, item);
  for (int c = 0; c < g.classes.count; c++) fill_halo_of_bytes(g, g.classes.mask[c], work.specials.data());
  work.set_masks();
}

namespace {

// Codes the samples that a kernel with feedback cannot code.
template <class T>
struct Requantizer {
  const Quantizer<T>& q;
  const u8* mask;
  u32 first;  // raster index of the task's first sample
  ClassCodes<CodeOf<T>>& codes;

  static u8 code(void* self, u32 index, T sample, T prediction, T* reconstructed) {
    Requantizer& r = *static_cast<Requantizer*>(self);
    const FailedSample<T> failed{r.first + index, &sample, prediction};
    u8 byte;
    WideCode wide;
    if (requantize_failed_sample(r.q, failed, r.mask && r.mask[failed.index], byte, wide)) r.codes.wide_codes.push_back(wide);
    *reconstructed = sample;
    return byte;
  }
};

template <class T>
void code_bytes_with_feedback(const Quantizer<T>& q, const ClassTask<T>& task, u32 first, int cls, const ClassParameters& p,
                              BlockWork<T>& work) {
  STZ_STAGE(predict);
  const u8* mask = work.mask_or_null(cls);
  ClassCodes<CodeOf<T>>& codes = work.codes[cls];
  Requantizer<T> requantizer{q, mask, first, codes};
  FeedbackTask<T> feedback = feedback_task(work, cls, p, q);
  feedback.requantize = Requantizer<T>::code;
  feedback.encoder = &requantizer;
  const size_t listed = codes.wide_codes.size();
  uniform_kernels<T>().encode_feedback(task, feedback, mask ? mask + first : nullptr, codes.bytes.data() + first);
  std::sort(codes.wide_codes.begin() + std::ptrdiff_t(listed), codes.wide_codes.end(),
            [](const WideCode& a, const WideCode& b) { return a.index < b.index; });
}

// Quantizes rows of a class with feedback: first the samples of even index, then the others.
template <class S>
class FeedbackCoder {
 public:
  FeedbackCoder(const Quantizer<S>& q, int cls, const ClassParameters& p, BlockWork<S>& work)
      : q_(q), feedback_(work, cls, p, q), outliers_(work.codes[cls].outliers) {
    const size_t half = size_t(work.geometry.count(cls, 3)) / 2 + 1 + row_slack;
    for (Buffer<S>* samples : {&x_, &reconstructed_}) samples->resize(half);
    p_.resize(half);
    codes_.resize(half);
    masked_.resize(half);
  }
  void code_row(S* samples, const RealOf<S>* prediction, int n, size_t index, const Index& at, const u8* masked, CodeOf<S>* codes) {
    const size_t listed = outliers_.size();
    feedback_.start(at);
    std::fill_n(codes, n, CodeOf<S>(0));
    for (int parity : {0, 1}) {
      if (parity) feedback_.add_neighbours();
      const int half = (n + 1 - parity) / 2;
      for (int i = 0, x = parity; x < n; i++, x += 2) {
        x_[size_t(i)] = samples[x];
        p_[size_t(i)] = prediction[x] + feedback_.sums()[x];
        if (masked) masked_[size_t(i)] = masked[x];
      }
      const size_t before = outliers_.size();
      quantize_row(q_, x_.data(), 1, p_.data(), half, masked ? masked_.data() : nullptr, 0, codes_.data(), reconstructed_.data(),
                   outliers_);
      for (size_t o = before; o < outliers_.size(); o++) outliers_[o].index = u32(index) + 2 * outliers_[o].index + u32(parity);
      for (int i = 0, x = parity; x < n; i++, x += 2) {
        samples[x] = reconstructed_[size_t(i)];
        codes[x] = codes_[size_t(i)];
      }
      feedback_.take(codes);
    }
    std::sort(outliers_.begin() + std::ptrdiff_t(listed), outliers_.end(),
              [](const Outlier& a, const Outlier& b) { return a.index < b.index; });
  }

 private:
  const Quantizer<S>& q_;
  FeedbackRows<S> feedback_;
  std::vector<Outlier>& outliers_;
  Buffer<S> x_, reconstructed_;
  Buffer<RealOf<S>> p_;
  Buffer<CodeOf<S>> codes_;
  Buffer<u8> masked_;
};

// Codes the samples of a task as bytes. `first`: the raster index of its first sample.
template <class T>
void code_bytes(const Quantizer<T>& q, const ClassTask<T>& task, u32 first, int cls, BlockWork<T>& work) {
  STZ_STAGE(predict);
  const u8* mask = work.mask_or_null(cls);
  ClassCodes<CodeOf<T>>& codes = work.codes[cls];
  FailedSample<T>* failed = work.failed.data();
  const u32 failures = uniform_kernels<T>().encode_class(task, mask ? mask + first : nullptr, codes.bytes.data() + first, failed);
  if (!failures) return;
  std::sort(failed, failed + failures, [](const auto& a, const auto& b) { return a.index < b.index; });
  for (u32 f = 0; f < failures; f++) failed[f].index += first;
  requantize_failed_samples(q, failed, failures, mask, codes.bytes.data(), codes.wide_codes);
}

}  // namespace

template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work) {
  const Quantizer<S>& q = source.quantizer(l);
  const u8* mask = work.mask_or_null(cls);
  const bool needed = cls != unused_class(work.geometry.classes, l);
  if constexpr (std::is_floating_point_v<S>) {
    if (as_bytes && encoded_by_class_kernels(q)) {
      work.bytes(cls);
      if (p.feedback.any) {
        start_feedback(work, cls);
        code_bytes_with_feedback(q, class_task(work, cls, p, q), 0, cls, p, work);
      } else {
        work.failed.resize(work.geometry.samples(cls));
        code_bytes(q, class_task(work, cls, p, q), 0, cls, work);
      }
      if (needed) complete_class(work, cls, p);
      return;
    }
  }
  STZ_STAGE(predict);
  CodeOf<S>* numbers = work.numbers(cls);
  if (p.feedback.any) {
    FeedbackCoder<S> coder(q, cls, p, work);
    for_predicted_rows(work, cls, p, [&](S* samples, const RealOf<S>* prediction, int n, size_t index, const Index& at) {
      coder.code_row(samples, prediction, n, index, at, mask ? mask + index : nullptr, numbers + index);
    });
    if (needed) complete_class(work, cls, p);
    return;
  }
  Buffer<S> x(size_t(work.geometry.count(cls, 3)) + 1);
  for_predicted_rows(work, cls, p, [&](S* samples, const RealOf<S>* prediction, int n, size_t index, const Index&) {
    memcpy(x.data(), samples, size_t(n) * sizeof(S));
    quantize_row(q, x.data(), 1, prediction, n, mask ? mask + index : nullptr, u32(index), numbers + index, samples,
                 work.codes[cls].outliers);
  });
  if (needed) complete_class(work, cls, p);
}

template <class S>
void leave_out_bits(const ClassParameters& p, int cls, BlockWork<S>& work) {
  if (!p.unknown_bits) return;
  std::swap(work.codes[cls], work.whole_codes[cls]);
  cut_codes(work.whole_codes[cls], size_t(work.geometry.samples(cls)), p.unknown_bits, work.codes[cls]);
}

template <class S>
void code_block(const LevelSource<S>& source, const GridPart<const S>& samples, size_t l, const ClassParameters* p, BlockWork<S>& work,
                const PlanesDone* done) {
  const BlockGeometry& g = work.geometry;
  const Quantizer<S>& q = source.quantizer(l);
  const int axis = sweep_axis(g);
  bool all_bytes = encoded_by_class_kernels(q);
  for (int c = 0; c < g.classes.count; c++) all_bytes &= uses_byte_indices(q, p[g.classes.mask[c]]);
  bool swept = false;
  if constexpr (std::is_floating_point_v<S>)
    if (axis >= 0 && all_bytes) {
      swept = true;
      u64 largest = 0;
      for (int c = 0; c < g.classes.count; c++) {
        work.bytes(g.classes.mask[c]);
        if (p[g.classes.mask[c]].feedback.any) start_feedback(work, g.classes.mask[c]);
        largest = std::max(largest, g.samples(g.classes.mask[c]));
      }
      work.failed.resize(largest);
      PlaneReader<S> reader(work, samples, axis, l == 0);
      sweep(
          work, p, axis, all_classes, unused_class(g.classes, l),
          [&](int cls, i64 j) {
            PlaneTask<S> plane = plane_task(work, cls, p[cls], q, axis, j);
            reader.prepare(cls, j, plane.task);
            if (p[cls].feedback.any)
              code_bytes_with_feedback(q, plane.task, plane.first, cls, p[cls], work);
            else
              code_bytes(q, plane.task, plane.first, cls, work);
          },
          [&](i64 j) {
            if (done) (*done)(Planes{axis, 2 * j, std::min(2 * j + 2, g.box.size[size_t(axis)])});
          });
    }
  if (!swept) {
    load_block(g, samples, work.values.data());
    for (int c = 0; c < g.classes.count; c++) {
      const int cls = g.classes.mask[c];
      code_class(source, l, cls, p[cls], uses_byte_indices(q, p[cls]), work);
    }
    if (done) (*done)(Planes{});
  }
  for (int c = 0; c < g.classes.count; c++) leave_out_bits(p[g.classes.mask[c]], g.classes.mask[c], work);
  for (int c = 0; c < g.classes.count; c++)  // nothing needs those of the last class of level 0
    if (l > 0 || c + 1 < g.classes.count) class_activities(work, g.classes.mask[c], p[g.classes.mask[c]].mean);
}

#define STZ_INSTANTIATE(S)                                                                                                        \
  template void prepare_box(const LevelSource<S>&, const BoxSource<S>&, size_t, u64, const Box&, StencilId, BlockWork<S>&, bool); \
  template void code_class(const LevelSource<S>&, size_t, int, const ClassParameters&, bool, BlockWork<S>&);                      \
  template void leave_out_bits(const ClassParameters&, int, BlockWork<S>&);                                                       \
  template void code_block(const LevelSource<S>&, const GridPart<const S>&, size_t, const ClassParameters*, BlockWork<S>&,        \
                           const PlanesDone*);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
