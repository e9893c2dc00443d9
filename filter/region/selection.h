// Selections of HDF5 in numbers: a regular hyperslab of the file, cut by chunks, and a place in memory.
//
// The packed array is what a hyperslab selects, in C order: its shape is the number of selected indices along each axis.
#ifndef STZ_REGION_SELECTION_H
#define STZ_REGION_SELECTION_H

#include <vector>

#include "calls.h"
#include "stz.h"

namespace stz::region {

constexpr int kMaxRank = STZ_MAX_RANK;

struct FileSelection {
  int rank = 0;
  Size extents[kMaxRank];                                                            // of the dataset
  Size start[kMaxRank], stride[kMaxRank], count[kMaxRank], block[kMaxRank];          // offset included; no index is out of the dataset
  Size shape[kMaxRank];                                                              // of the packed array
  Size samples = 0;
};

// What `space`, with the extent of the dataset's own space, selects. False if it is no regular hyperslab or is empty, so that HDF5
// has to read it.
bool parse_file_selection(const Calls& calls, Id space, FileSelection& selection);

// Indices of a chunk along one axis that are decoded together: start + i * step, 0 <= i < count, counted from the chunk's first sample.
// Of these, those with i in `picks`, or all if there are none, are selected; they are at `packed` and following of the packed array.
struct Span {
  Size start, step, count;
  std::vector<Size> picks;
  Size packed;
  Size selected() const { return picks.empty() ? count : picks.size(); }
};

// The part of an axis of the selection in one chunk.
struct ChunkAxis {
  Size index;               // of the chunk along the axis
  std::vector<Span> spans;  // more than one if there are wide gaps between blocks of the hyperslab
  Size packed, shape;       // the packed array's indices that lie in the chunk: [packed, packed + shape)
};

// The chunks that hold selected indices of `axis`, in rising order, for chunks of `extent` samples.
std::vector<ChunkAxis> cut_axis(const FileSelection& selection, int axis, Size extent);

// Whether the samples that `space` selects lie in memory one behind the other in the order of selection, `offset` samples after the
// buffer's begin.
bool is_contiguous(const Calls& calls, Id space, Size& offset);

}  // namespace stz::region

#endif
