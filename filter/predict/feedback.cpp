#include "predict/feedback.h"

#include <algorithm>

namespace stz {
namespace {

i64 pitch_of(const BlockGeometry& g, int cls) { return (g.count(cls, 3) + 63) / 64 * 64; }

// The unit of codes.
template <class S>
RealOf<S> feedback_step(const Quantizer<S>& q) {
  return q.kind == QuantizerKind::uniform ? RealOf<S>(q.fast.step) : RealOf<S>(q.step);
}
template <class R>
R feedback_unit(R step, const FeedbackParameters& p) {
  return step / R(1 << p.bits);
}

// The axes before the last one along which residuals count, in the order of their terms.
int feedback_axes(const BlockGeometry& g, int* axis) {
  int terms = 0;
  for (int a = 2; a >= 0; a--)
    if (g.active_mask >> a & 1) axis[terms++] = a;
  return terms;
}

i16 saturated(i32 v) { return i16(std::clamp<i32>(v, -32768, 32767)); }
i16 weighted(i16 residual, i16 weight) { return i16((i32(residual) * weight + 64) >> 7); }
template <class R>
R weighted(R residual, i16 weight) {
  return residual * (R(weight) / R(1 << FeedbackParameters::unit_bits));
}

}  // namespace

template <class S>
void start_feedback(BlockWork<S>& work, int cls) {
  const BlockGeometry& g = work.geometry;
  const int slowest = slowest_axis(g);
  const i64 rows = (slowest < 1 ? g.count(cls, 1) : 1) * (slowest < 2 ? g.count(cls, 2) : 1);
  Buffer<i16>& history = work.history[cls];
  history.resize(size_t(rows * pitch_of(g, cls)));
  std::fill(history.begin(), history.end(), i16(0));
}

template <class T>
FeedbackTask<T> feedback_task(BlockWork<T>& work, int cls, const ClassParameters& p, const Quantizer<T>& q) {
  const BlockGeometry& g = work.geometry;
  const i64 n = g.count(cls, 3);
  FeedbackTask<T> task;
  task.pitch = std::ptrdiff_t(pitch_of(g, cls));
  const bool short_rows = n <= FeedbackTask<T>::short_row;
  const size_t pitch = size_t(task.pitch), space = pitch * (short_rows ? FeedbackTask<T>::slots : 2);
  work.zeros.resize_defined(pitch);
  work.feedback_shorts.resize_defined(2 * space);
  work.feedback_reals.resize_defined(pitch + std::max(2 * size_t(n), size_t(short_rows ? 4 * g.values.stride[2] : n)) + row_slack);
  task.terms = feedback_axes(g, task.axis);
  for (int t = 0; t < task.terms; t++)
    for (int parity : {0, 1}) task.before[parity][t] = p.feedback.before[parity][2 - task.axis[t]];
  task.beside = p.feedback.beside;
  task.bits = p.feedback.bits;
  task.unit = feedback_unit(feedback_step(q), p.feedback);
  task.slowest = slowest_axis(g);
  task.history = work.history[cls].data();
  task.zeros = work.zeros.data();
  task.sums = work.feedback_shorts.data();
  task.codes = task.sums + space;
  task.even = work.feedback_reals.data();
  task.predictions = task.even + pitch;
  return task;
}

template <class S>
FeedbackRows<S>::FeedbackRows(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q)
    : p_(p.feedback),
      step_(feedback_step(q)),
      unit_(feedback_unit(step_, p_)),
      n_(work.geometry.counts(cls)),
      slowest_(slowest_axis(work.geometry)),
      sums_(size_t(n_[3])) {
  terms_ = feedback_axes(work.geometry, axis_);
  if (p_.all_codes)
    make(all_);
  else
    make(small_);
}

template <class S>
template <class Residual>
void FeedbackRows<S>::make(History<Residual>& h) {
  const size_t n = size_t(n_[3]);
  h.residuals.resize(n * size_t((slowest_ < 1 ? n_[1] : 1) * (slowest_ < 2 ? n_[2] : 1)));
  h.zeros.resize(n);
  h.sums.resize(n);
}

// Computes the sums of terms into h.sums.
template <class S>
template <class Residual>
void FeedbackRows<S>::start(History<Residual>& h, const Index& at) {
  const i64 step[3] = {0, slowest_ < 1 ? n_[2] * n_[3] : 0, slowest_ < 2 ? n_[3] : 0};
  h.own = h.residuals.data() + at[1] * step[1] + at[2] * step[2];
  std::fill(h.sums.begin(), h.sums.end(), Residual(0));
  for (int t = 0; t < terms_; t++) {
    const int axis = axis_[t];
    const Residual* from = axis == slowest_ ? h.own : axis > slowest_ && at[size_t(axis)] > 0 ? h.own - step[axis] : h.zeros.data();
    for (i64 x = 0; x < n_[3]; x++) {
      const Residual term = weighted(from[x], p_.before[x & 1][2 - axis]);
      Residual& sum = h.sums[size_t(x)];
      if constexpr (std::is_same_v<Residual, i16>)
        sum = saturated(sum + term);
      else
        sum = t ? sum + term : term;
    }
  }
}

template <class S>
void FeedbackRows<S>::start(const Index& at) {
  if (p_.all_codes) {
    start(all_, at);
    std::copy(all_.sums.begin(), all_.sums.end(), sums_.begin());
    return;
  }
  start(small_, at);
  for (size_t x = 0; x < sums_.size(); x++) sums_[x] = R(saturated(2 * small_.sums[x])) * unit_;
}

template <class S>
void FeedbackRows<S>::take(const Code* code) {
  const Code limit = p_.all_codes ? Code(-(outlier_code<Code> + 1)) : Code(largest_byte_code);
  for (size_t x = 0; x < sums_.size(); x++) {
    const Code c = code[x] >= -limit && code[x] <= limit ? code[x] : Code(0);
    if (p_.all_codes)
      all_.own[x] = sums_[x] + R(c) * step_;
    else {
      const i32 largest = 32767 >> p_.bits;
      small_.own[x] = saturated(saturated(2 * small_.sums[x]) + std::clamp<i32>(i32(c), -largest, largest) * (1 << p_.bits));
    }
  }
}

template <class S>
void FeedbackRows<S>::add_neighbours() {
  const size_t n = sums_.size();
  for (size_t x = 1; x < n; x += 2) {
    const bool last = x + 1 == n;
    if (p_.all_codes)
      sums_[x] += weighted(all_.own[x - 1] + (last ? R(0) : all_.own[x + 1]), p_.beside);
    else {
      i16& sum = small_.sums[x];
      sum = saturated(sum + weighted(saturated(small_.own[x - 1] + (last ? 0 : small_.own[x + 1])), p_.beside));
      sums_[x] = R(saturated(2 * sum)) * unit_;
    }
  }
}

template void start_feedback(BlockWork<float>&, int);
template void start_feedback(BlockWork<double>&, int);
template void start_feedback(BlockWork<i64>&, int);
template FeedbackTask<float> feedback_task(BlockWork<float>&, int, const ClassParameters&, const Quantizer<float>&);
template FeedbackTask<double> feedback_task(BlockWork<double>&, int, const ClassParameters&, const Quantizer<double>&);
template class FeedbackRows<float>;
template class FeedbackRows<double>;
template class FeedbackRows<i64>;

}  // namespace stz
