// HDF5 selections in numbers: a regular hyperslab of the file, cut by chunks, and a place in memory.
//
// The packed array holds the selected samples of a hyperslab in C order. Its shape is the number of selected indices along each axis.
#pragma once
#include <vector>

#include "hdf5/calls.h"
#include "stz.h"

namespace stz::region {

using namespace hdf5;  // region/ is written in terms of the calling HDF5

constexpr int max_rank = STZ_MAX_RANK;

struct FileSelection {
  int rank = 0;
  hsize_t extents[max_rank];                                                    // of the dataset
  hsize_t start[max_rank], stride[max_rank], count[max_rank], block[max_rank];  // offset included; no index is out of the dataset
  hsize_t shape[max_rank];                                                      // of the packed array
  hsize_t samples = 0;
};

// Parses the selection of `space`, which has the extent of the dataset's own space. False if it is not a regular hyperslab or is empty;
// HDF5 has to read it then.
bool parse_file_selection(const Calls& calls, hid_t space, FileSelection& selection);

// Indices of a chunk along one axis that are decoded together: start + i * step, 0 <= i < count, counted from the chunk's first sample.
// Indices with i in `picks` are selected, or all if `picks` is empty. They are at `packed` and following of the packed array.
struct Span {
  hsize_t start, step, count;
  std::vector<hsize_t> picks;
  hsize_t packed;
  hsize_t selected() const { return picks.empty() ? count : picks.size(); }
};

// The part of an axis of the selection in one chunk.
struct ChunkAxis {
  hsize_t index;            // of the chunk along the axis
  std::vector<Span> spans;  // more than one if blocks of the hyperslab have wide gaps between them
  hsize_t packed, shape;    // the packed array's indices that lie in the chunk: [packed, packed + shape)
};

// The chunks that hold selected indices of `axis`, in rising order, for chunks of `extent` samples.
std::vector<ChunkAxis> cut_axis(const FileSelection& selection, int axis, hsize_t extent);

// Whether the selected samples of `space` are contiguous in memory, in the order of selection. `offset` gets the number of samples before
// them in the buffer.
bool is_contiguous(const Calls& calls, hid_t space, hsize_t& offset);

}  // namespace stz::region
