// Selections in numbers (selection.h). HDF5 has checked that all sizes lie in a dataset, so no product of them overflows unless it is
// tested.
#include "region/selection.h"

#include <algorithm>

namespace stz::region {
namespace {

// Shorter gaps, in samples, are decoded and dropped: they mostly belong to blocks that are needed anyway.
constexpr hsize_t wide_gap = 64;

// Adds the next `count` selected indices, which start at `first` of the chunk and have no gaps.
void add_run(ChunkAxis& chunk, hsize_t first, hsize_t count) {
  Span* span = chunk.spans.empty() ? nullptr : &chunk.spans.back();
  if (!span || first - (span->start + span->count) >= wide_gap) {
    chunk.spans.push_back({first, 1, 0, {}, chunk.packed + chunk.shape});
    span = &chunk.spans.back();
  }
  for (hsize_t i = 0; i < count; ++i) span->picks.push_back(first - span->start + i);
  span->count = first - span->start + count;
  chunk.shape += count;
}

// Cuts blocks with gaps between them.
std::vector<ChunkAxis> cut_blocks(const FileSelection& selection, int axis, hsize_t extent) {
  const hsize_t stride = selection.stride[axis], block = selection.block[axis];
  std::vector<ChunkAxis> chunks;
  hsize_t next = selection.start[axis], packed = 0;
  for (hsize_t k = 0; k < selection.count[axis];) {
    ChunkAxis chunk{next / extent, {}, packed, 0};
    const hsize_t begin = chunk.index * extent, end = begin + extent;
    for (; k < selection.count[axis]; ++k) {
      const hsize_t first = selection.start[axis] + k * stride, last = first + block;
      next = std::max(first, end);
      if (first >= end) break;
      const hsize_t low = std::max(first, begin);
      add_run(chunk, low - begin, std::min(last, end) - low);
      if (last > end) break;  // goes on in the next chunk
    }
    for (Span& span : chunk.spans)
      if (span.picks.size() == span.count) span.picks.clear();
    packed += chunk.shape;
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

// Cuts `count` indices from `start` on, every step-th.
std::vector<ChunkAxis> cut_steps(hsize_t start, hsize_t step, hsize_t count, hsize_t extent) {
  std::vector<ChunkAxis> chunks;
  for (hsize_t done = 0; done < count;) {
    const hsize_t first = start + done * step, index = first / extent, offset = first - index * extent;
    const hsize_t here = std::min(count - done, (extent - 1 - offset) / step + 1);
    chunks.push_back({index, {Span{offset, here == 1 ? 1 : step, here, {}, done}}, done, here});
    done += here;
  }
  return chunks;
}

// Adds the offset of a selection (H5Soffset_simple): its bounds include the offset, its regular description does not.
bool add_offset(const Calls& calls, hid_t space, FileSelection& selection) {
  hsize_t first[max_rank], last[max_rank];
  if (calls.H5Sget_select_bounds(space, first, last) < 0) return false;
  for (int axis = 0; axis < selection.rank; ++axis) {
    if (last[axis] >= selection.extents[axis]) return false;
    selection.start[axis] = first[axis];
  }
  return true;
}

}  // namespace

bool parse_file_selection(const Calls& calls, hid_t space, FileSelection& selection) {
  selection.rank = calls.H5Sget_simple_extent_ndims(space);
  if (selection.rank < 1 || selection.rank > max_rank) return false;
  if (calls.H5Sget_simple_extent_dims(space, selection.extents, nullptr) < 0) return false;
  if (calls.H5Sget_select_type(space) != selection_hyperslab || calls.H5Sis_regular_hyperslab(space) <= 0) return false;
  if (calls.H5Sselect_valid(space) <= 0 || calls.H5Sget_select_npoints(space) <= 0) return false;
  if (calls.H5Sget_regular_hyperslab(space, selection.start, selection.stride, selection.count, selection.block) < 0) return false;
  if (!add_offset(calls, space, selection)) return false;

  selection.samples = 1;
  for (int axis = 0; axis < selection.rank; ++axis) {
    const hsize_t count = selection.count[axis], block = selection.block[axis];
    if (count == unlimited || block == unlimited || count == 0 || block == 0) return false;
    selection.shape[axis] = count * block;
    selection.samples *= selection.shape[axis];
  }
  return true;
}

std::vector<ChunkAxis> cut_axis(const FileSelection& selection, int axis, hsize_t extent) {
  const hsize_t start = selection.start[axis], stride = selection.stride[axis];
  const hsize_t count = selection.count[axis], block = selection.block[axis];
  if (block == 1) return cut_steps(start, stride, count, extent);
  if (count == 1 || stride == block) return cut_steps(start, 1, count * block, extent);
  return cut_blocks(selection, axis, extent);
}

bool is_contiguous(const Calls& calls, hid_t space, hsize_t& offset) {
  offset = 0;
  const int type = calls.H5Sget_select_type(space);
  if (type == selection_all) return true;
  const int rank = calls.H5Sget_simple_extent_ndims(space);
  if (type != selection_hyperslab || rank < 1 || rank > max_rank) return false;
  hsize_t extents[max_rank], first[max_rank], last[max_rank];
  if (calls.H5Sget_simple_extent_dims(space, extents, nullptr) < 0 || calls.H5Sget_select_bounds(space, first, last) < 0) return false;
  hsize_t samples = 1;
  bool partial = false;  // an axis further in is not selected as a whole
  for (int axis = rank - 1; axis >= 0; --axis) {
    const hsize_t length = last[axis] - first[axis] + 1;
    if (last[axis] >= extents[axis] || (partial && length > 1)) return false;
    partial = partial || length < extents[axis];
    samples *= length;
  }
  for (int axis = 0; axis < rank; ++axis) offset = offset * extents[axis] + first[axis];
  // A selection that fills its bounds has no gaps and is in C order.
  return calls.H5Sget_select_npoints(space) == static_cast<long long>(samples);
}

}  // namespace stz::region
