// Residual feedback: improves the prediction of a sample with the residuals of earlier samples of the same class and block.
//
// The residual of a sample is R = F + c, where c is its code and F what feedback adds to the stencil's prediction, both in steps:
//   F = w2 R[index before it along axis 2] + w1 R[along axis 1] + w0 R[along axis 0]      (active axes only; 0 outside the block)
// Even and odd indices along axis 3 have different weights. Odd ones are coded after the even ones of their row, and
//   F += w3 (R[before it along axis 3] + R[behind it]).
// Outliers and masked samples count as c = 0.
// Usually only small codes (those of a byte) count, and larger ones count as 0. Residuals are then 16-bit integers in units of 2^-bits
// steps, which is fast and the same on every machine. If all codes count, residuals are real numbers in units of samples.
// Residuals depend only on codes. So partial reads of a block need no additional samples, and contexts and entropy coding do not change.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// The axis along which the history of a block keeps only the previous index: the first one with more than one sample.
inline int slowest_axis(const BlockGeometry& g) {
  int axis = 0;
  while (axis < 3 && g.box.size[size_t(axis)] < 2) axis++;
  return axis;
}

// Clears the residuals of a class. Call it before its first row.
template <class S>
void start_feedback(BlockWork<S>& work, int cls);

// The task for the class kernels, for small codes. Call start_feedback() first.
template <class T>
FeedbackTask<T> feedback_task(BlockWork<T>& work, int cls, const ClassParameters& p, const Quantizer<T>& q);

// Feedback of a class row by row, in raster order, for codes that are numbers.
template <class S>
class FeedbackRows {
 public:
  using R = RealOf<S>;
  using Code = CodeOf<S>;
  FeedbackRows(BlockWork<S>& work, int cls, const ClassParameters& p, const Quantizer<S>& q);
  // Starts the row at an index: sums without neighbours along axis 3.
  void start(const Index& at);
  // Computes the residuals of the row from its codes. They are right for even samples, and for odd ones once their sums are complete.
  void take(const Code* code);
  // Completes the sums of odd samples. The residuals of the even ones must be right.
  void add_neighbours();
  const R* sums() const { return sums_.data(); }

 private:
  // The history and its current row. Residuals are integers or real numbers.
  template <class Residual>
  struct History {
    std::vector<Residual> residuals, zeros, sums;
    Residual* own = nullptr;
  };
  template <class Residual>
  void make(History<Residual>& h);
  template <class Residual>
  void start(History<Residual>& h, const Index& at);

  const FeedbackParameters& p_;
  const R step_, unit_;  // units of codes and of 16-bit residuals
  const Index n_;
  const int slowest_;
  int terms_ = 0, axis_[axes - 1];
  History<i16> small_;  // half sums, and residuals in units
  History<R> all_;
  std::vector<R> sums_;
};

}  // namespace stz
