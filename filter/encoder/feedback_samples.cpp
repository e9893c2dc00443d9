#include "encoder/feedback_samples.h"

#include "encoder/pseudo_random.h"
#include "encoder/rough_log2.h"

namespace stz {
namespace {

constexpr float largest_difference = 1e6f;  // in steps; larger ones say nothing

i64 padded(i64 n) { return (n + 15) / 16 * 16; }

// A window that large shows most of what is before a sample, and is small enough for several of them.
Index window_size(const Index& n) {
  int rank = 0;
  for (i64 k : n) rank += k > 1;
  const Index most = rank <= 1   ? Index{1, 1, 1, 4096}
                     : rank == 2 ? Index{1, 16, 16, 256}
                     : rank == 3 ? Index{8, 8, 12, 64}
                                 : Index{6, 6, 6, 32};
  Index size;
  for (size_t a = 0; a < axes; a++) size[a] = std::min(n[a], most[a]);
  return size;
}

// Places of windows, spread over all boxes: calls visit(box, first index, extent).
template <class S, class F>
void for_windows(std::vector<SampledBox<S>>& boxes, int cls, u64 wanted, F visit) {
  u64 all = 0, seed = 1;
  for (const SampledBox<S>& box : boxes) all += box.work.geometry.samples(cls);
  if (all <= wanted + wanted / 2) {
    for (SampledBox<S>& box : boxes)
      if (box.work.geometry.samples(cls)) visit(box, Index{}, box.work.geometry.counts(cls));
    return;
  }
  u64 passed = 0, at = 0;
  for (SampledBox<S>& box : boxes) {
    const Index n = box.work.geometry.counts(cls);
    const u64 samples = box.work.geometry.samples(cls);
    if (!samples) continue;
    const Index size = window_size(n);
    const u64 window = u64(size[0] * size[1] * size[2] * size[3]), apart = std::max<u64>(window, all / (wanted / window + 1));
    for (passed += samples; at < passed; at += apart) {
      Index low;
      for (size_t a = 0; a < axes; a++) {
        const i64 tiles = (n[a] + size[a] - 1) / size[a], tile = i64(pseudo_random(seed) * u64(tiles) >> 31);
        low[a] = tiles > 1 ? tile * (n[a] - size[a]) / (tiles - 1) : 0;
      }
      low[3] = low[3] / 2 * 2;
      visit(box, low, size);
    }
  }
}

}  // namespace

template <class S>
FeedbackTrials::FeedbackTrials(std::vector<SampledBox<S>>& boxes, int cls, const ClassParameters& p, double step, u64 wanted) {
  for (int axis = 2; axis >= 0; axis--)
    if (boxes[0].work.geometry.active_mask >> axis & 1) axis_[terms_++] = axis;
  i64 longest = 0;
  u64 space[2] = {};
  for_windows(boxes, cls, wanted, [&](SampledBox<S>&, const Index&, const Index& n) {
    longest = std::max(longest, n[3]);
    for (int parity : {0, 1}) space[parity] += u64(n[0] * n[1] * n[2] * padded((n[3] + 1 - parity) / 2));
  });
  for (int parity : {0, 1}) {
    FeedbackSamples& s = parity_[parity];
    const size_t n = size_t(space[parity]) + 16;  // the sums of neighbours reach beyond the end
    for (Buffer<float>* b : {&s.difference, &s.valid, &s.residual, &s.share}) b->resize(n);
    for (Buffer<float>& b : s.column) b.resize(n);
    s.context.resize(n);
    s.bin.resize(n);
    std::fill(s.difference.begin(), s.difference.end(), 0.0f);
    std::fill(s.valid.begin(), s.valid.end(), 0.0f);
    std::fill(s.context.begin(), s.context.end(), u8(contexts));
    std::fill(s.residual.begin(), s.residual.end(), 0.0f);
  }
  zeros_.resize(size_t(padded(longest)) + 16);
  std::fill(zeros_.begin(), zeros_.end(), 0.0f);
  for_windows(boxes, cls, wanted,
              [&](SampledBox<S>& box, const Index& low, const Index& n) { add_window(box, cls, p, low, n, RealOf<S>(1 / step)); });
}

template <class S>
void FeedbackTrials::add_window(SampledBox<S>& box, int cls, const ClassParameters& p, const Index& low, const Index& n,
                                RealOf<S> per_step) {
  BlockWork<S>& work = box.work;
  const BlockGeometry& g = work.geometry;
  const Index whole = g.counts(cls);
  const u8* mask = work.mask_or_null(cls);
  const ClassPlan<S>& plan = work.plan(cls, p);
  Buffer<RealOf<S>> prediction(size_t(n[3]) + row_slack);
  Window window{n, {parity_[0].count, parity_[1].count}, {padded((n[3] + 1) / 2), padded(n[3] / 2)}};
  for_rows(Index{}, {n[0], n[1], n[2], 1}, [&](i64 i, i64 j, i64 k) {
    const S* samples = work.first(cls) + g.values.at(low[0] + i, low[1] + j, low[2] + k) + low[3];
    const size_t index = size_t((((low[0] + i) * whole[1] + low[1] + j) * whole[2] + low[2] + k) * whole[3] + low[3]);
    const u8* context = box.context[cls].data() + index;
    plan.predict(samples, int(n[3]), prediction.data());
    for (i64 x = 0; x < n[3]; x++) {
      FeedbackSamples& to = parity_[x & 1];
      const size_t at = to.count + size_t(x / 2);
      const float v = float((RealOf<S>(samples[x]) - prediction[size_t(x)]) * per_step);
      if (!(__builtin_fabsf(v) < largest_difference) || (mask && mask[index + size_t(x)])) continue;
      to.difference[at] = v;
      to.valid[at] = 1;
      to.context[at] = context[x];
      size_ += double(__builtin_fabsf(v));
      samples_++;
    }
    for (int parity : {0, 1}) parity_[parity].count += size_t(window.pitch[parity]);
  });
  windows_.push_back(window);
}

void FeedbackTrials::run_window(const Window& window, FeedbackFitRow& even, FeedbackFitRow& odd) {
  const Index& n = window.n;
  i64 row = 0;
  for_rows(Index{}, {n[0], n[1], n[2], 1}, [&](i64 i, i64 j, i64 k) {
    const i64 at[3] = {i, j, k}, rows_before[3] = {n[1] * n[2], n[2], 1};
    for (int parity : {0, 1}) {
      FeedbackFitRow& r = parity ? odd : even;
      FeedbackSamples& s = parity_[parity];
      const i64 pitch = window.pitch[parity];
      const size_t first = window.first[parity] + size_t(row * pitch);
      r.n = int(pitch);
      r.difference = s.difference.data() + first;
      r.valid = s.valid.data() + first;
      r.residual = s.residual.data() + first;
      r.share = s.share.data() + first;
      r.bin = s.bin.data() + first;
      for (int t = 0; t < feedback_columns; t++) r.column[t] = s.column[t].data() + first;
      for (int t = 0; t < terms_; t++) r.before[t] = at[axis_[t]] > 0 ? r.residual - rows_before[axis_[t]] * pitch : zeros_.data();
      if (parity) r.even = even.residual;
      if (pitch) size_ += kernels().fit.feedback(r);
    }
    row++;
  });
}

double FeedbackTrials::run(const FeedbackParameters& p) {
  constexpr float unit = 1.0f / (1 << FeedbackParameters::unit_bits);
  FeedbackFitRow row[2] = {};
  for (int parity : {0, 1}) {
    row[parity].terms = terms_;
    for (int t = 0; t < terms_; t++) row[parity].weight[t] = float(p.before[parity][2 - axis_[t]]) * unit;
    row[parity].soft = float(size_ / double(samples_) + 0.5);
    row[parity].limit = p.all_codes ? 1e9f : float(largest_byte_code);
  }
  row[1].weight[3] = float(p.beside) * unit;
  size_ = 0;
  for (const Window& window : windows_) run_window(window, row[0], row[1]);
  return bits();
}

// Entropy of the sizes of codes in their contexts, signs and the raw bits of large ones.
double FeedbackTrials::bits() {
  memset(count_, 0, sizeof count_);
  int bins_used = 0;
  for (const FeedbackSamples& s : parity_) {
    for (size_t i = 0; i < s.count; i += 2) {  // a run of the same would wait for its counter
      count_[0][s.context[i]][s.bin[i]]++;
      count_[1][s.context[i + 1]][s.bin[i + 1]]++;
    }
    bins_used = std::max(bins_used, 1 + int(kernels().bytes.largest(s.bin.data(), s.count)));
  }
  double bits = 0;
  wide_ = 0;
  for (int k = 0; k < contexts; k++) {
    const u32 *bins = count_[0][k], *others = count_[1][k];
    double total = 0, sum = 0;
    for (int b = 0; b < bins_used; b++) {
      if (!(bins[b] + others[b])) continue;
      const double n = double(bins[b] + others[b]);
      total += n;
      if (b >= size_bin(largest_byte_code + 1)) wide_ += bins[b] + others[b];
      sum += n * rough_log2(n);
      bits += n * ((b > 0) + (b >= 64 ? (b - 64) / 4 + 4 : 0));
    }
    if (total > 0) bits += total * rough_log2(total) - sum;
  }
  return bits;
}

#define STZ_INSTANTIATE(S) template FeedbackTrials::FeedbackTrials(std::vector<SampledBox<S>>&, int, const ClassParameters&, double, u64);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)

}  // namespace stz
