// The samples of a floating-point array and the ways to represent them under a bound (encoder).
#pragma once
#include <optional>

#include "encoder/plan/plan.h"

namespace stz {

template <class S>
class FloatingArray {
 public:
  // `a` and `request` must live as long as this. `h`: layout, mode, bound, fill value, valid extent and axis map.
  FloatingArray(const Array& a, const Header& h, const StreamRequest& request);

  const Header& header() const { return header_; }  // with the facts about special values
  const S* samples() const { return samples_; }
  u64 count() const { return n_; }
  const std::shared_ptr<const Masks>& masks() const { return masks_; }
  double ulp() const { return ulp_; }  // the ulp of the largest magnitude

  // Equal steps of the value.
  Plan<S> uniform() const;
  // Multiples of a step that are coded within less than half of it: format/remainders.h.
  Plan<S> multiples(const Remainders& remainders) const;
  // Every bit: short floats as integers, others in ULP space.
  Plan<S> lossless() const;
  // Steps in ULP space, which keep a point-wise relative bound of numbers of any sign. Nothing if the bound is less than a unit.
  std::optional<Plan<S>> ulp_steps() const;
  // Logarithms, for point-wise relative bounds of numbers of one sign. Nothing if there is no room for the bound.
  std::optional<Plan<double>> logarithmic() const;

  // Numbers origin + k * delta, or decimals, as the integers k.
  struct FixedPoint {
    Header header;
    bool fits_float = false;  // the integers are exact as float
    double step = 0;          // the distance between values that it tells apart
    std::shared_ptr<const Masks> masks;
    bool few_bits = false;  // far fewer than the mantissa has
  };
  // Nothing if the numbers are not on such a grid, or if the grid is useless.
  std::optional<FixedPoint> fixed_point() const;
  // Nothing if the numbers were no decimals of few digits. For every bit.
  std::optional<FixedPoint> decimals() const;
  // For numbers that are small integers, but for some elements: those of find_slice_grids.
  FixedPoint on_slice_grids(const SliceGrids& slices, const std::vector<u64>& exceptions) const;
  template <class T>
  Plan<T> as_fixed_point(const FixedPoint& grid) const;

 private:
  void set_integers(FixedPoint& found, i64 largest) const;
  std::shared_ptr<const Masks> with_literals(const std::vector<u64>& samples) const;
  Masks masks_of_logarithms(const Header& l, bool& positive, bool& negative) const;

  const Array& a_;
  const StreamRequest& request_;
  Header header_;
  const u64 valid_, n_;
  Buffer<S> loaded_;
  std::shared_ptr<const Masks> masks_ = std::make_shared<const Masks>();
  const S* samples_;
  double ulp_;
};

}  // namespace stz
