// The samples that residual feedback is fitted on, and trials that code them. Samples come from boxes of a class and are kept as
// differences from the stencil's prediction, in quantization steps. Encoder only.
#pragma once
#include "encoder/fit/sampled_boxes.h"

namespace stz {

class FeedbackTrials {
 public:
  // Takes about `wanted` samples of the class.
  template <class S>
  FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted, int threads);
  u64 samples() const { return samples_; }
  int terms() const { return terms_; }
  int axis(int term) const { return axis_[term]; }
  // Codes all samples with these weights.
  const FeedbackSums& run(const FeedbackParameters& p);
  // Estimated bits of the last trial's codes: the entropy of their sizes in their contexts, and the bits that are stored raw.
  double bits() const;

 private:
  // A part of a box. Residuals outside of it count as 0.
  struct Window {
    size_t box;
    Index low, n;
    size_t first;     // index of the first sample; both parities follow
    u64 samples = 0;  // samples that are not masked and have a usable difference
    double size = 0;  // sum of |difference| of these
    i64 rows() const { return n[0] * n[1] * n[2]; }
    i64 pitch() const { return ((n[3] + 1) / 2 + 15) / 16 * 16; }
    size_t of_parity() const { return size_t(rows() * pitch()); }
  };
  using Worker = Buffer<float>;  // residuals of one thread
  static constexpr u64 most_tasks = 8, samples_per_task = 4096, counters = 4 * 256;
  u64 tasks() const { return std::min<u64>(windows_.size(), std::clamp<u64>(keys_.size() / samples_per_task, 1, most_tasks)); }
  // Calls work(worker, task, number of a window) for every window, in tasks that threads share.
  template <class F>
  void for_windows(F work) {
    const u64 count = windows_.size(), parts = tasks();
    parallel_for<Worker>(parts, threads_, [&](Worker& worker, u64 task) {
      for (u64 w = task * count / parts; w < (task + 1) * count / parts; w++) work(worker, task, size_t(w));
    });
  }
  void run_window(FeedbackTrial trial, const Window& window, float* residuals, FeedbackSums& sums);
  // Adds up how often each key (context and size of a code) occurs in a window.
  void count_codes(const Window& window, u32* count) const;
  template <class S>
  void add_window(SampledBox<S>& box, int cls, const ClassParameters& p, Window& window, RealOf<S> per_step);

  // Feedback terms: a sample can depend on the residuals before it along these axes.
  int terms_ = 0, axis_[3];
  u64 samples_ = 0;
  double size_ = 0;  // mean |difference|; after a trial, mean |error| in it
  const int threads_;
  FeedbackSums sums_;
  Buffer<float> differences_;
  Buffer<u8> contexts_, keys_;
  size_t longest_ = 0;  // most residuals of one parity of a window, with padding
  std::vector<Window> windows_;
  std::vector<FeedbackSums> of_window_;
  Buffer<u32> codes_;  // how often each key occurred in the last trial: four sets of counters for each task
};

}  // namespace stz
