// Residual feedback: samples of a class are predicted better with the residuals of those before them, in the same block.
//
// The residual of a sample is R = F + c, where c is its code and F what feedback adds to its stencil's prediction, both in steps:
//   F = w2 R[index before it along axis 2] + w1 R[along axis 1] + w0 R[along axis 0]      (those of active axes; 0 outside the block)
// with weights of their own for even and odd indices along axis 3, and for odd ones, which are done when the even ones of the row are,
//   F += w3 (R[before it along axis 3] + R[behind it]).
// Outliers and masked samples count as c = 0. Small codes, those of a byte, are enough as a rule: then larger ones count as 0, too, and
// residuals are 16-bit integers in units of 2^-bits steps, the same on every machine and fast. Where all codes count, residuals are
// real numbers in the units of samples. Residuals depend on codes alone, so that a part of a block needs no other samples than without
// feedback, and contexts and entropy coding are as they are.
#pragma once
#include "predict/block_codec.h"

namespace stz {

// The axis along which the history of a block has one row, that of the index before: the first with more than one sample.
inline int slowest_axis(const BlockGeometry& g) {
  int axis = 0;
  while (axis < 3 && g.box.size[size_t(axis)] < 2) axis++;
  return axis;
}

// Forgets the residuals of a class: to be called before its first row.
template <class S>
void start_feedback(BlockWork<S>& work, int cls);

// The task of the class kernels, for small codes; start_feedback() comes before it.
template <class T>
FeedbackTask<T> feedback_task(BlockWork<T>& work, int cls, const ClassParameters& p, const Quantizer<T>& q);

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
  const R* sums() const { return sums_.data(); }

 private:
  // The history and the current row of it, residuals being integers or real numbers.
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
  const R step_, unit_;  // in which codes and 16-bit residuals count
  const Index n_;
  const int slowest_;
  int terms_ = 0, axis_[axes - 1];
  History<i16> small_;  // halves of sums, and residuals in units
  History<R> all_;
  std::vector<R> sums_;
};

}  // namespace stz
