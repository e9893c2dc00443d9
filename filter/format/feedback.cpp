#include "format/feedback.h"

#include <algorithm>

namespace stz {

template <class S>
std::ptrdiff_t start_feedback(BlockWork<S>& work, int cls) {
  const BlockGeometry& g = work.geometry;
  const Index n = g.counts(cls);
  const int slowest = slowest_axis(g);
  const i64 pitch = (n[3] + 15) / 16 * 16, rows = (slowest < 1 ? n[1] : 1) * (slowest < 2 ? n[2] : 1);
  Buffer<RealOf<S>>& history = work.history[cls];
  history.resize(size_t(rows * pitch));
  std::fill(history.begin(), history.end(), RealOf<S>(0));
  return std::ptrdiff_t(pitch);
}

namespace {

template <class S>
FeedbackTask<RealOf<S>> make_task(BlockWork<S>& work, int cls, const FeedbackParameters& p) {
  using R = RealOf<S>;
  const BlockGeometry& g = work.geometry;
  const size_t row = size_t(g.count(cls, 3)) + row_slack;
  work.zeros.resize_defined(row);
  work.feedback_rows.resize(2 * row);
  FeedbackTask<R> task;
  constexpr R unit = R(1) / R(1 << FeedbackParameters::unit_bits);
  task.terms = 0;
  for (int axis = 2; axis >= 0; axis--) {
    if (!(g.active_mask >> axis & 1)) continue;
    for (int parity : {0, 1}) task.before[parity][task.terms] = R(p.before[parity][2 - axis]) * unit;
    task.axis[task.terms++] = axis;
  }
  task.beside = R(p.beside) * unit;
  task.slowest = slowest_axis(g);
  task.history = work.history[cls].data();
  task.pitch = std::ptrdiff_t((g.count(cls, 3) + 15) / 16 * 16);
  task.zeros = work.zeros.data();
  task.predictions = work.feedback_rows.data();
  task.sums = work.feedback_rows.data() + row;
  return task;
}

}  // namespace

template <class T>
FeedbackTask<T> feedback_task(BlockWork<T>& work, int cls, const ClassParameters& p) {
  return make_task(work, cls, p.feedback);
}

template <class S>
FeedbackRows<S>::FeedbackRows(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q)
    : all_codes_(p.feedback.all_codes), step_(feedback_step(q)), n_(work.geometry.counts(cls)) {
  start_feedback(work, cls);
  task_ = make_task(work, cls, p.feedback);
}

template <class S>
void FeedbackRows<S>::start(const Index& at) {
  const std::ptrdiff_t step[3] = {0, task_.slowest < 1 ? n_[2] * task_.pitch : 0, task_.slowest < 2 ? task_.pitch : 0};
  own_ = task_.history + at[1] * step[1] + at[2] * step[2];
  const R* before[3] = {};
  for (int t = 0; t < task_.terms; t++) {
    const int axis = task_.axis[t];
    before[t] = axis == task_.slowest ? own_ : axis > task_.slowest && at[size_t(axis)] > 0 ? own_ - step[axis] : task_.zeros;
  }
  R* const sums = task_.sums;
  if (task_.terms == 0) std::fill_n(sums, n_[3], R(0));
  for (int t = 0; t < task_.terms; t++) {
    const R *const from = before[t], even = task_.before[0][t], odd = task_.before[1][t];
    if (t == 0)
      for (i64 x = 0; x < n_[3]; x++) sums[x] = from[x] * (x & 1 ? odd : even);
    else
      for (i64 x = 0; x < n_[3]; x++) sums[x] += from[x] * (x & 1 ? odd : even);
  }
}

template <class S>
void FeedbackRows<S>::take(const Code* code) {
  const Code limit = all_codes_ ? Code(-(outlier_code<Code> + 1)) : Code(largest_byte_code);
  R *const own = own_, step = step_, *const sums = task_.sums;
  for (i64 x = 0; x < n_[3]; x++) own[x] = sums[x] + R(code[x] >= -limit && code[x] <= limit ? code[x] : Code(0)) * step;
}

template <class S>
void FeedbackRows<S>::add_neighbours() {
  for (i64 x = 1; x < n_[3]; x += 2) task_.sums[x] += (own_[x - 1] + (x + 1 < n_[3] ? own_[x + 1] : R(0))) * task_.beside;
}

template std::ptrdiff_t start_feedback(BlockWork<float>&, int);
template std::ptrdiff_t start_feedback(BlockWork<double>&, int);
template std::ptrdiff_t start_feedback(BlockWork<i64>&, int);
template FeedbackTask<float> feedback_task(BlockWork<float>&, int, const ClassParameters&);
template FeedbackTask<double> feedback_task(BlockWork<double>&, int, const ClassParameters&);
template class FeedbackRows<float>;
template class FeedbackRows<double>;
template class FeedbackRows<i64>;

}  // namespace stz
