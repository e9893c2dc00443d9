#include "encoder/fit/feedback_samples.h"

#include "base/pseudo_random.h"
#include "base/rough_log2.h"

namespace stz {
namespace {

// Extents of windows: large enough to contain most samples before a sample, small enough for several windows.
Index window_size(const Index& n) {
  int rank = 0;
  for (i64 k : n) rank += k > 1;
  const Index most = rank <= 1   ? Index{1, 1, 1, 4096}
                     : rank == 2 ? Index{1, 16, 16, 256}
                     : rank == 3 ? Index{8, 6, 8, 32}
                                 : Index{6, 6, 6, 32};
  Index size;
  for (size_t a = 0; a < axes; a++) size[a] = std::min(n[a], most[a]);
  return size;
}

// Places windows, spread over all boxes. Calls visit(number of the box, first index, extent).
template <class S, class F>
void place_windows(const std::vector<SampledBox<S>>& boxes, int cls, u64 wanted, F visit) {
  u64 all = 0, seed = 1;
  for (const SampledBox<S>& box : boxes) all += box.work.geometry.samples(cls);
  if (all <= wanted + wanted / 2) {
    for (size_t b = 0; b < boxes.size(); b++)
      if (boxes[b].work.geometry.samples(cls)) visit(b, Index{}, boxes[b].work.geometry.counts(cls));
    return;
  }
  u64 passed = 0, at = 0;
  for (size_t b = 0; b < boxes.size(); b++) {
    const BlockGeometry& g = boxes[b].work.geometry;
    const Index n = g.counts(cls);
    const u64 samples = g.samples(cls);
    if (!samples) continue;
    const Index size = window_size(n);
    const u64 window = u64(size[0] * size[1] * size[2] * size[3]), apart = std::max<u64>(window, all * window / wanted + 1);
    for (passed += samples; at < passed; at += apart) {
      Index low;
      for (size_t a = 0; a < axes; a++) {
        const i64 tiles = (n[a] + size[a] - 1) / size[a], tile = i64(pseudo_random(seed) * u64(tiles) >> 31);
        low[a] = tiles > 1 ? tile * (n[a] - size[a]) / (tiles - 1) : 0;
      }
      low[3] = low[3] / 2 * 2;
      visit(b, low, size);
    }
  }
}

void add(FeedbackSums& sums, const FeedbackSums& more) {
  sums.size += more.size;
  sums.wide += more.wide;
  for (int parity : {0, 1})
    for (int i = 0; i < FeedbackSums::pitch * FeedbackSums::pitch; i++) sums.products[parity][i] += more.products[parity][i];
}

// The sum of |v| over n samples.
float sum_of_sizes(const float* v, size_t n) {
  constexpr size_t lanes = 8;  // independent sums, to hide latency
  float sum[lanes] = {}, rest = 0;
  size_t x = 0;
  for (; x + lanes <= n; x += lanes)
    for (size_t i = 0; i < lanes; i++) sum[i] += __builtin_fabsf(v[x + i]);
  for (; x < n; x++) rest += __builtin_fabsf(v[x]);
  for (float lane : sum) rest += lane;
  return rest;
}

}  // namespace

template <class S>
FeedbackTrials::FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted, int threads)
    : threads_(threads) {
  for (int axis = 2; axis >= 0; axis--)
    if (boxes[0].work.geometry.active_mask >> axis & 1) axis_[terms_++] = axis;
  size_t space = 0;
  place_windows(boxes, cls, wanted, [&](size_t box, const Index& low, const Index& n) {
    const Window& window = windows_.emplace_back(Window{box, low, n, space});
    space += 2 * window.of_parity();
    longest_ = std::max(longest_, window.of_parity() + size_t(window.rows() * 16));
  });
  differences_.resize(space);
  contexts_.resize(space);
  keys_.resize(space);
  of_window_.resize(windows_.size());
  for_windows([&](Worker&, u64, size_t w) { add_window(boxes[windows_[w].box], cls, p, windows_[w], RealOf<S>(1 / step)); });
  for (const Window& window : windows_) {
    samples_ += window.samples;
    size_ += window.size;
  }
  if (samples_) size_ /= double(samples_);
}

template <class S>
void FeedbackTrials::add_window(SampledBox<S>& box, int cls, const ClassParameters& p, Window& window, RealOf<S> per_step) {
  constexpr float none = __builtin_inff();
  BlockWork<S>& work = box.work;
  const BlockGeometry& g = work.geometry;
  const Index whole = g.counts(cls), &low = window.low, &n = window.n;
  const u8* mask = work.mask_or_null(cls);
  const ClassPlan<S>& plan = work.plan(cls, p);  // already made, for the contexts
  const size_t row = size_t(n[3]), even = (row + 1) / 2, pitch = size_t(window.pitch());
  Buffer<RealOf<S>> prediction(row + row_slack);
  Buffer<float> difference(row);
  float* out[2] = {differences_.data() + window.first, differences_.data() + window.first + window.of_parity()};
  u8* context_out[2] = {contexts_.data() + window.first, contexts_.data() + window.first + window.of_parity()};
  for_rows(Index{}, {n[0], n[1], n[2], 1}, [&](i64 i, i64 j, i64 k) {
    const S* samples = work.first(cls) + g.values.at(low[0] + i, low[1] + j, low[2] + k) + low[3];
    plan.predict(samples, int(row), prediction.data());
    for (size_t x = 0; x < row; x++) difference[x] = float((RealOf<S>(samples[x]) - prediction[x]) * per_step);
    float size = sum_of_sizes(difference.data(), row);
    const size_t index = size_t((((low[0] + i) * whole[1] + low[1] + j) * whole[2] + low[2] + k) * whole[3] + low[3]);
    const u8* context = box.context[cls].data() + index;
    u64 usable = row;
    if (mask || !(size <= FeedbackTrial::largest)) {
      size = 0;
      for (size_t x = 0; x < row; x++)
        if (!(__builtin_fabsf(difference[x]) <= FeedbackTrial::largest) || (mask && mask[index + x])) {
          difference[x] = none;
          usable--;
        } else
          size += __builtin_fabsf(difference[x]);
    }
    window.samples += usable;
    window.size += double(size);
    row_kernels<float>().separate(difference.data(), int(row), out[0], out[1]);
    std::fill(out[0] + even, out[0] + pitch, none);
    std::fill(out[1] + row / 2, out[1] + pitch, none);
    u8 *const even_context = context_out[0], *const odd_context = context_out[1];
    for (size_t x = 0; x < pitch; x += 16) {  // behind the row there are no samples
      u8 both[32];
      memcpy(both, context + 2 * x, sizeof both);
      for (size_t i = 0; i < 16; i++) even_context[x + i] = u8(both[2 * i] << 4);
      for (size_t i = 0; i < 16; i++) odd_context[x + i] = u8(both[2 * i + 1] << 4);
    }
    for (int parity : {0, 1}) {
      out[parity] += pitch;
      context_out[parity] += pitch;
    }
  });
}

const FeedbackSums& FeedbackTrials::run(const FeedbackParameters& p) {
  constexpr float unit = 1.0f / (1 << FeedbackParameters::unit_bits);
  FeedbackTrial trial{};
  trial.terms = terms_;
  for (int t = 0; t < terms_; t++) {
    trial.axis[t] = axis_[t];
    for (int parity : {0, 1}) trial.before[parity][t] = float(p.before[parity][2 - axis_[t]]) * unit;
  }
  trial.beside = float(p.beside) * unit;
  trial.soft = float(size_ + 0.5);
  trial.limit = p.all_codes ? 1e9f : float(largest_byte_code);
  codes_.resize(size_t(tasks()) * counters);
  std::fill(codes_.begin(), codes_.end(), 0u);
  for_windows([&](Worker& residuals, u64 task, size_t w) {
    residuals.resize(2 * longest_);
    run_window(trial, windows_[w], residuals.data(), of_window_[w]);
    count_codes(windows_[w], codes_.data() + task * counters);
  });
  sums_ = {};
  for (const FeedbackSums& sums : of_window_) add(sums_, sums);
  size_ = sums_.size / double(samples_);
  return sums_;
}

void FeedbackTrials::run_window(FeedbackTrial trial, const Window& window, float* residuals, FeedbackSums& sums) {
  std::copy_n(window.n.begin(), 3, trial.rows);
  trial.pitch = window.pitch();
  for (int parity : {0, 1}) {
    const size_t first = window.first + size_t(parity) * window.of_parity();
    trial.difference[parity] = differences_.data() + first;
    trial.context[parity] = contexts_.data() + first;
    trial.key[parity] = keys_.data() + first;
    trial.residual[parity] = residuals + size_t(parity) * longest_;
  }
  sums = {};
  kernels().fit.feedback(trial, sums);
}

void FeedbackTrials::count_codes(const Window& window, u32* count) const {
  const u8* const key = keys_.data() + window.first;
  for (size_t i = 0; i < 2 * window.of_parity(); i += 8) {
    const u64 v = load_le<u64>(key + i);
    // four counters in turn, so that runs of equal codes do not wait for each other
    for (u32 k = 0; k < 8; k++) count[(k & 3) << 8 | (v >> (8 * k) & 255)]++;
  }
}

// Entropy, signs and positions in bins.
double FeedbackTrials::bits() const {
  constexpr int bins = 16;
  u32 count[256] = {};
  for (size_t i = 0; i < codes_.size(); i++) count[i & 255] += codes_[i];
  double bits = 0;
  for (int k = 0; k < contexts; k++) {
    double total = 0, sum = 0;
    for (int b = 0; b < bins - 1; b++) {
      const int at = bins * k + b;
      const u32 n = count[at];
      if (!n) continue;
      total += n;
      sum += rough_n_log2(n);
      bits += n * ((b > 0) + (b < 4 ? 0 : b < 6 ? 1 : b - 3));
    }
    if (total > 0) bits += total * rough_log2(total) - sum;
  }
  return bits;
}

#define STZ_INSTANTIATE(S) \
  template FeedbackTrials::FeedbackTrials(std::vector<SampledBox<S>>&, int, const ClassParameters&, double, u64, int);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
