// The order of an array's elements in the codec. The elements are all of the array, or the box at its start if the rest is padding (edge
// chunks of HDF5).
#pragma once
#include "format/axis_map.h"

namespace stz {

inline u64 valid_elements(const Header& h) {
  u64 n = 1;
  for (int a = 0; a < h.layout.rank; a++) n *= h.valid[a];
  return n;
}

// The elements of the valid box in the order of the codec's samples, as a nest of as few loops as possible.
class SampleOrder {
 public:
  explicit SampleOrder(const Header& h);

  // Whether samples have the order of the elements in memory, without gaps.
  bool as_stored() const { return loops_.size() == 1 && loops_[0].stride == 1; }
  // The index in the array of sample `number`.
  u64 element_of(u64 number) const;

  // Calls f(number of the sample, index of its element) for all samples. They are visited in order, unless axes are exchanged: then in a
  // cache-friendly order.
  template <class F>
  void for_each(F f) const {
    for_each_run([&](u64 number, u64 element, u64 n, u64 stride) {
      if (stride == 1)
        for (u64 x = 0; x < n; x++) f(number + x, element + x);
      else
        for (u64 x = 0; x < n; x++) f(number + x, element + x * stride);
    });
  }
  // The same for runs: f(number of the first sample, index of its element, number of samples, stride of their elements).
  template <class F>
  void for_each_run(F f) const {
    constexpr u64 tile = 256;
    const Loop& last = loops_.back();
    // loops around tiles of the last loop; loops within a tile, whose elements are closer together than those of the last loop
    std::vector<Loop> outer, inner;
    for (size_t k = 0; k + 1 < loops_.size(); k++) (loops_[k].stride < last.stride ? inner : outer).push_back(loops_[k]);
    const u64 length = inner.empty() ? last.extent : tile;
    nest(outer, 0, 0, [&](u64 number, u64 element) {
      for (u64 from = 0; from < last.extent; from += length) {
        const u64 to = std::min(last.extent, from + length);
        nest(inner, number, element, [&](u64 first_number, u64 first_element) {
          f(first_number + from, first_element + from * last.stride, to - from, last.stride);
        });
      }
    });
  }

 private:
  struct Loop {
    u64 extent;
    u64 stride;  // in the array, in elements
    u64 step;    // in samples
  };
  template <class F>
  static void nest(const std::vector<Loop>& loops, u64 number, u64 element, F f) {
    u64 at[STZ_MAX_RANK] = {};
    for (;;) {
      f(number, element);
      size_t k = loops.size();
      for (; k > 0; k--) {
        const Loop& loop = loops[k - 1];
        number += loop.step;
        element += loop.stride;
        if (++at[k - 1] < loop.extent) break;
        number -= loop.extent * loop.step;
        element -= loop.extent * loop.stride;
        at[k - 1] = 0;
      }
      if (k == 0) return;
    }
  }

  std::vector<Loop> loops_;  // slowest first; at least one
};

template <class F>
void for_valid(const Header& h, F f) {
  SampleOrder(h).for_each(f);
}

}  // namespace stz
