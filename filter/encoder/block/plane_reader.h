// Supplies the original samples of a block that is coded plane by plane (predict/sweep.h). Kernels read them directly from the array where
// possible; otherwise they are copied into the block. The cache lines of the next planes are prefetched a few at a time while a plane is
// coded: prefetching all at once would stall the encoder.
#pragma once
#include "predict/block_rows.h"
#include "predict/sweep.h"

namespace stz {

template <class S>
class PlaneReader {
 public:
  // `constant`: the grid is not written to meanwhile, so that kernels may read from it.
  PlaneReader(BlockWork<S>& work, const GridPart<const S>& grid, int axis, bool constant)
      : g_(work.geometry), grid_(grid), axis_(axis), values_(work.values.data()), direct_(constant && g_.split_mask >> 3 & 1) {
    for (int c = g_.classes.count; c-- > 0;) first_[g_.classes.mask[c] >> axis & 1] = g_.classes.mask[c];
    const i64 even = g_.even[size_t(axis)], odd = g_.odd[size_t(axis)], lead = sweep_lead(g_, axis, 1);
    for (i64 j = 0, k = 0; j < even; j++) {
      for (; k < std::min(even, j + lead); k++) order_.push_back(2 * k);
      if (j < odd) order_.push_back(2 * j + 1);
    }
  }

  // Prepares the samples of plane j of a class for a task.
  void prepare(int cls, i64 j, ClassTask<S>& task) {
    const int parity = cls >> axis_ & 1;
    const i64 plane = 2 * j + parity;
    const bool direct = direct_ && may_read(plane);
    if (cls == first_[parity]) {  // the first class with samples on this plane
      begun_++;
      if (!direct) load_block(g_, grid_, values_, Planes{axis_, plane, plane + 1});
    }
    if (direct) read_directly(cls, plane, task);
    task.ahead = rows_ahead();
  }

 private:
  static constexpr size_t planes_ahead = 1;

  const S* row(const Index& at) const {
    const Index& low = g_.box.low;
    return grid_.at(low[0] + at[0], low[1] + at[1], low[2] + at[2], low[3] + at[3]);
  }
  Index first_of(i64 plane) const {
    Index at{};
    at[size_t(axis_)] = plane;
    return at;
  }
  // Kernels read row_slack samples beyond the last row of a plane. Whether these are still in the array.
  bool may_read(i64 plane) const {
    Index last;
    for (size_t a = 0; a < axes; a++) last[a] = g_.box.size[a] - 1;
    last[size_t(axis_)] = plane;
    const Index& n = grid_.box.size;
    return row(last) - grid_.data + 1 + row_slack <= n[0] * n[1] * n[2] * n[3];
  }
  void read_directly(int cls, i64 plane, ClassTask<S>& task) const {
    Index at = first_of(plane);
    std::ptrdiff_t stride = grid_.box.size[3];
    for (size_t a = 3; a-- > 0; stride *= grid_.box.size[a]) {
      const bool split = g_.split_mask >> a & 1;
      task.original_stride[a] = split ? 2 * stride : stride;
      if (int(a) != axis_) at[a] = cls >> a & 1;
    }
    at[3] = cls >> 3 & 1;
    task.originals = row(at);
  }
  // The rows to prefetch during the next task, or null.
  RowsAhead* rows_ahead() {
    if (ahead_.rows > 0) return &ahead_;
    const size_t parts = axis_ == 0 ? size_t(g_.box.size[1]) : 1;  // a plane is prefetched in parts whose rows are equally far apart
    asked_ = std::max(asked_, begun_ * parts);
    if (asked_ >= std::min(order_.size(), begun_ + planes_ahead) * parts) return nullptr;
    Index first = first_of(order_[asked_ / parts]);
    if (axis_ == 0) first[1] = i64(asked_ % parts);
    // There are at least 7/4 as many rows of classes as rows of the block, so 4/7 of a row's lines for each would do; 3/4 is safe.
    const int size = int(g_.box.size[3] * i64(sizeof(S)));
    ahead_ = {reinterpret_cast<const char*>(row(first)), std::ptrdiff_t(grid_.box.size[3]) * std::ptrdiff_t(sizeof(S)), g_.box.size[2],
              size, size / 64 * 3 / 4 + 1};
    asked_++;
    return &ahead_;
  }

  const BlockGeometry& g_;
  const GridPart<const S>& grid_;
  const int axis_;
  S* const values_;
  const bool direct_;
  int first_[2] = {-1, -1};  // the first class of either parity
  std::vector<i64> order_;   // of planes, as they are begun
  size_t begun_ = 0;         // planes
  size_t asked_ = 0;         // parts of planes that were prefetched
  RowsAhead ahead_;
};

}  // namespace stz
