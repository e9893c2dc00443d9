// Selections in numbers (selection.h). Sizes come from HDF5, which has checked that they lie in a dataset: no product of them
// overflows but where it is tested.
#include "selection.h"

#include <algorithm>

namespace stz::region {
namespace {

// More boxes than this are not worth decoding one by one.
constexpr Size kMaxBoxes = 4096;

void add_piece(std::vector<Piece>& pieces, Size start, Size step, Size count, Size packed, Size packed_step) {
  pieces.push_back({start, count == 1 ? 1 : step, count, packed, count == 1 ? 1 : packed_step});
}

// Blocks that touch are one progression, and so are single samples. Blocks with gaps are as many as there are blocks, or as there
// are samples in one.
void cut_into_pieces(FileSelection& selection, int axis) {
  const Size start = selection.start[axis], stride = selection.stride[axis];
  const Size count = selection.count[axis], block = selection.block[axis];
  std::vector<Piece>& pieces = selection.pieces[axis];
  if (block == 1) {
    add_piece(pieces, start, stride, count, 0, 1);
  } else if (count == 1 || stride == block) {
    add_piece(pieces, start, 1, count * block, 0, 1);
  } else if (count <= block) {
    for (Size i = 0; i < count; ++i) add_piece(pieces, start + i * stride, 1, block, i * block, 1);
  } else {
    for (Size j = 0; j < block; ++j) add_piece(pieces, start + j, stride, count, j, block);
  }
}

// The bounds of a selection include its offset (H5Soffset_simple), its regular description does not.
bool add_offset(const Calls& calls, Id space, FileSelection& selection) {
  Size first[kMaxRank], last[kMaxRank];
  if (calls.H5Sget_select_bounds(space, first, last) < 0) return false;
  for (int axis = 0; axis < selection.rank; ++axis) {
    if (last[axis] >= selection.extents[axis]) return false;
    selection.start[axis] = first[axis];
  }
  return true;
}

}  // namespace

bool parse_file_selection(const Calls& calls, Id space, FileSelection& selection) {
  selection.rank = calls.H5Sget_simple_extent_ndims(space);
  if (selection.rank < 1 || selection.rank > kMaxRank) return false;
  if (calls.H5Sget_simple_extent_dims(space, selection.extents, nullptr) < 0) return false;
  if (calls.H5Sget_select_type(space) != kSelectionHyperslab || calls.H5Sis_regular_hyperslab(space) <= 0) return false;
  if (calls.H5Sselect_valid(space) <= 0 || calls.H5Sget_select_npoints(space) <= 0) return false;
  if (calls.H5Sget_regular_hyperslab(space, selection.start, selection.stride, selection.count, selection.block) < 0) return false;
  if (!add_offset(calls, space, selection)) return false;

  selection.samples = 1;
  Size boxes = 1;
  for (int axis = 0; axis < selection.rank; ++axis) {
    const Size count = selection.count[axis], block = selection.block[axis];
    if (count == kUnlimited || block == kUnlimited || count == 0 || block == 0) return false;
    selection.shape[axis] = count * block;
    selection.samples *= selection.shape[axis];
    const bool gaps = block > 1 && count > 1 && selection.stride[axis] != block;
    boxes *= gaps ? std::min(count, block) : 1;
    if (boxes > kMaxBoxes) return false;
  }
  for (int axis = 0; axis < selection.rank; ++axis) cut_into_pieces(selection, axis);
  return true;
}

std::vector<ChunkAxis> cut_axis(const FileSelection& selection, int axis, Size extent) {
  std::vector<ChunkAxis> chunks;
  // The pieces advance together, chunk by chunk: `done[p]` samples of piece p lie in chunks before the current one.
  const std::vector<Piece>& pieces = selection.pieces[axis];
  std::vector<Size> done(pieces.size(), 0);
  for (;;) {
    Size first = kUnlimited;
    for (size_t p = 0; p < pieces.size(); ++p) {
      if (done[p] < pieces[p].count) first = std::min(first, pieces[p].start + done[p] * pieces[p].step);
    }
    if (first == kUnlimited) return chunks;
    ChunkAxis chunk{first / extent, {}, kUnlimited, 0};
    const Size begin = chunk.index * extent;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const Piece& piece = pieces[p];
      const Size next = piece.start + done[p] * piece.step;
      if (done[p] == piece.count || next - begin >= extent) continue;
      const Size count = std::min(piece.count - done[p], (begin + extent - 1 - next) / piece.step + 1);
      const Size packed = piece.packed + done[p] * piece.packed_step;
      add_piece(chunk.pieces, next - begin, piece.step, count, packed, piece.packed_step);
      chunk.packed = std::min(chunk.packed, packed);
      chunk.shape += count;
      done[p] += count;
    }
    chunks.push_back(std::move(chunk));
  }
}

bool is_contiguous(const Calls& calls, Id space, Size& offset) {
  offset = 0;
  const int type = calls.H5Sget_select_type(space);
  if (type == kSelectionAll) return true;
  const int rank = calls.H5Sget_simple_extent_ndims(space);
  if (type != kSelectionHyperslab || rank < 1 || rank > kMaxRank) return false;
  Size extents[kMaxRank], first[kMaxRank], last[kMaxRank];
  if (calls.H5Sget_simple_extent_dims(space, extents, nullptr) < 0 || calls.H5Sget_select_bounds(space, first, last) < 0) return false;
  Size samples = 1;
  bool partial = false;  // an axis further in is not selected as a whole
  for (int axis = rank - 1; axis >= 0; --axis) {
    const Size length = last[axis] - first[axis] + 1;
    if (last[axis] >= extents[axis] || (partial && length > 1)) return false;
    partial = partial || length < extents[axis];
    samples *= length;
  }
  for (int axis = 0; axis < rank; ++axis) offset = offset * extents[axis] + first[axis];
  // A selection that fills its bounds has no gaps and no order but C's.
  return calls.H5Sget_select_npoints(space) == static_cast<long long>(samples);
}

}  // namespace stz::region
