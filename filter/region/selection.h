// Selections of HDF5 in numbers: a regular hyperslab of the file, cut by chunks, and a place in memory.
//
// The packed array is what a hyperslab selects, in C order: its shape is the number of selected indices along each axis. Along an
// axis the selected indices are a few arithmetic progressions (pieces): one unless the hyperslab has blocks with gaps.
#ifndef STZ_REGION_SELECTION_H
#define STZ_REGION_SELECTION_H

#include <vector>

#include "calls.h"
#include "stz.h"

namespace stz::region {

constexpr int kMaxRank = STZ_MAX_RANK;

// Indices start + i * step, 0 <= i < count, of the file; they are at packed + i * packed_step of the packed array.
struct Piece {
  Size start, step, count;
  Size packed, packed_step;
};

struct FileSelection {
  int rank = 0;
  Size extents[kMaxRank];                                                            // of the dataset
  Size start[kMaxRank], stride[kMaxRank], count[kMaxRank], block[kMaxRank];          // offset included; no index is out of the dataset
  Size shape[kMaxRank];                                                              // of the packed array
  Size samples = 0;
  std::vector<Piece> pieces[kMaxRank];
};

// What `space`, with the extent of the dataset's own space, selects. False if it is no regular hyperslab, is empty or has too
// many boxes, so that HDF5 has to read it.
bool parse_file_selection(const Calls& calls, Id space, FileSelection& selection);

// The part of an axis of the selection in one chunk.
struct ChunkAxis {
  Size index;                 // of the chunk along the axis
  std::vector<Piece> pieces;  // `start` counts from the chunk's first sample
  Size packed, shape;         // the packed array's indices that lie in the chunk: [packed, packed + shape)
};

// The chunks that hold selected indices of `axis`, in rising order, for chunks of `extent` samples.
std::vector<ChunkAxis> cut_axis(const FileSelection& selection, int axis, Size extent);

// Whether the samples that `space` selects lie in memory one behind the other in the order of selection, `offset` samples after the
// buffer's begin.
bool is_contiguous(const Calls& calls, Id space, Size& offset);

}  // namespace stz::region

#endif
