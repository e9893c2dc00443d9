// Samples that residual feedback is fitted on: boxes of a class, as differences from the stencil's prediction in steps, and trials that
// code them (encoder only).
#pragma once
#include "encoder/fit/sampled_boxes.h"

namespace stz {

class FeedbackTrials {
 public:
  // About `wanted` samples of the class. The team shares the work.
  template <class S>
  FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted, Team& team);
  u64 samples() const { return samples_; }
  int terms() const { return terms_; }
  int axis(int term) const { return axis_[term]; }
  // Codes all samples.
  const FeedbackSums& run(const FeedbackParameters& p);
  // The bits of the last trial's codes, from the entropy of their sizes in their contexts.
  double bits() const;

 private:
  // A part of a box. Residuals outside count as 0.
  struct Window {
    size_t box;
    Index low, n;
    size_t first;     // of its samples, both parities
    u64 samples = 0;  // that are usable
    double size = 0;  // sum of |difference|
    i64 rows() const { return n[0] * n[1] * n[2]; }
    i64 pitch() const { return ((n[3] + 1) / 2 + 15) / 16 * 16; }
    size_t of_parity() const { return size_t(rows() * pitch()); }
  };
  using Worker = Buffer<float>;  // residuals of one thread
  static constexpr u64 most_tasks = 8, samples_per_task = 4096, counters = 4 * 256;
  u64 tasks() const { return std::min<u64>(windows_.size(), std::clamp<u64>(keys_.size() / samples_per_task, 1, most_tasks)); }
  // Calls work(worker, task, number of a window) for every window, in tasks that the team shares.
  template <class F>
  void for_windows(F work) {
    const u64 count = windows_.size(), parts = tasks();
    team_.share<Worker>(parts, [&](Worker& worker, u64 task) {
      for (u64 w = task * count / parts; w < (task + 1) * count / parts; w++) work(worker, task, size_t(w));
    });
  }
  void run_window(FeedbackTrial trial, const Window& window, float* residuals, FeedbackSums& sums);
  // Adds the keys of a window.
  void count_codes(const Window& window, u32* count) const;
  template <class S>
  void add_window(SampledBox<S>& box, int cls, const ClassParameters& p, Window& window, RealOf<S> per_step);

  int terms_ = 0, axis_[3];  // residuals before a sample that may count are along these axes
  u64 samples_ = 0;
  double size_ = 0;  // mean |difference|, or |error| in the last trial
  Team& team_;
  FeedbackSums sums_;
  Buffer<float> differences_;
  Buffer<u8> contexts_, keys_;
  size_t longest_ = 0;  // residuals of a parity of a window
  std::vector<Window> windows_;
  std::vector<FeedbackSums> of_window_;
  Buffer<u32> codes_;  // how many of each key the last trial had: four numbers for each task
};

}  // namespace stz
