// Residual feedback: samples of a class are predicted better with the residuals of those before them, in the same block.
//
// The residual of a sample is R = sum + c * step, where c is its code and `sum` what feedback adds to its stencil's prediction:
//   sum = w2 R[index before it along axis 2] + w1 R[along axis 1] + w0 R[along axis 0]      (those of active axes; 0 outside the block)
// with weights of their own for even and odd indices along axis 3, and for odd ones, which are done when the even ones of the row are,
//   sum += w3 (R[before it along axis 3] + R[behind it]).
// Outliers and masked samples count as c = 0, and so do codes beyond a byte unless the class's parameters say otherwise. Residuals depend
// on codes alone, so that a part of a block needs no other samples than without feedback, and contexts and entropy coding are as they are.
#pragma once
#include "format/block_codec.h"

namespace stz {

// The axis along which the history of a block has one row, that of the index before: the first with more than one sample.
inline int slowest_axis(const BlockGeometry& g) {
  int axis = 0;
  while (axis < 3 && g.box.size[size_t(axis)] < 2) axis++;
  return axis;
}

// Forgets the residuals of a class: to be called before its first row. Returns the distance of the rows of the history.
template <class S>
std::ptrdiff_t start_feedback(BlockWork<S>& work, int cls);

// The task of the class kernels; start_feedback() comes before it.
template <class T>
FeedbackTask<T> feedback_task(BlockWork<T>& work, int cls, const ClassParameters& p);

// The step in which codes count.
template <class S>
RealOf<S> feedback_step(const Quantizer<S>& q) {
  return q.kind == QuantizerKind::uniform ? RealOf<S>(q.fast.step) : RealOf<S>(q.step);
}

// Feedback of a class row by row, in raster order, where codes are numbers.
template <class S>
class FeedbackRows {
 public:
  using R = RealOf<S>;
  using Code = CodeOf<S>;
  FeedbackRows(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q);
  // The row at an index: sums without neighbours along axis 3.
  void start(const Index& at);
  // Residuals of the row from its codes: right for even samples, and for odd ones once their sums are complete.
  void take(const Code* code);
  // Completes the sums of odd samples, when the residuals of the even ones are right.
  void add_neighbours();
  const R* sums() const { return task_.sums; }

 private:
  const bool all_codes_;
  const R step_;
  Index n_;
  FeedbackTask<R> task_;
  R* own_ = nullptr;
};

}  // namespace stz
