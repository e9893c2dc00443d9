// Reads and writes of whole datasets, whose chunks several threads can decode or compress side by side: the conditions, and how chunks lie
// in the program's buffer.
#pragma once
#include "hdf5/calls.h"
#include "region/dataset_facts.h"
#include "region/read.h"
#include "stz_cd_values.h"

namespace stz::region {

// Who reads or writes. All values but `threads` are reasons to leave everything to HDF5.
enum class Way {
  threads,
  one_thread,  // no more are wanted
  part,        // not the whole dataset, or the samples are not contiguous in memory
  library,     // HDF5 lacks functions, or it has not loaded a plug-in with those that this needs
  dataset,     // not chunked, other filters, or a type that the codec does not have
  conversion,
  transfer,  // a data transform
  driver,    // MPI
  swmr,
  raw_edges,  // edge chunks are not filtered
  small,      // threads would not gain
  cache,      // HDF5's chunk cache has room for the dataset, or may hold samples that are not stored yet
  stored,     // chunks are in the file already
  missing,    // chunks are not in the file, or not filtered
  memory,
  refused,  // HDF5 did not answer a query
  failed    // HDF5 could not store or read a chunk, or it cannot be decoded: HDF5 repeats it and reports the error
};

// The name that `h5stz run` reads and explains.
const char* way_name(Way way) noexcept;
constexpr size_t ways = static_cast<size_t>(Way::failed) + 1;

struct WholeDataset {
  stz_layout chunk;
  size_t element_size, chunk_bytes;
  hsize_t extents[max_rank], grid[max_rank];  // samples, and chunks, along each axis
  hsize_t chunks, bytes;                      // of all of it
  hsize_t buffer_offset;                      // in the program's buffer, in bytes
  unsigned client_data[STZ_CD_MAX_WORDS];
  size_t client_count;
  unsigned char padding[32];  // an element of an edge chunk outside of the dataset, in a new chunk
  bool may_grow;              // or shrink
  bool has_edges;             // some chunks stick out of the dataset
  bool read_only;             // the file

  // The chunk's first sample, for HDF5.
  void offset_of(hsize_t number, hsize_t* offset) const;
};

// Returns Way::threads and fills `whole` if the request is for all samples of a dataset whose only filter is h5stz, in its own type and in
// the order of the file. Otherwise returns the reason. Makes no collective call.
Way look_at_whole(const Calls& calls, const Request& request, WholeDataset& whole);

// How many chunks are worked on at the same time, and how many threads each chunk gets.
struct Shares {
  int chunks, threads_each;
};

// `threads`: all that are wanted. Both numbers are 1 if more would not gain.
Shares share_threads(const WholeDataset& whole, int threads) noexcept;

// The rows of a chunk that are inside of the dataset: runs of samples that are contiguous both in the chunk and in the program's buffer.
class ChunkRows {
 public:
  ChunkRows(const WholeDataset& whole, hsize_t number);
  bool sticks_out() const { return sticks_out_; }
  // Whether the chunk is one run in the buffer, and where that begins, in bytes.
  bool is_one() const { return outer_ == 0 && !sticks_out_; }
  hsize_t first() const { return whole_.buffer_offset + at_ * whole_.element_size; }

  // Calls act(bytes from the beginning of the buffer, bytes from that of the chunk, bytes of the row).
  template <class Act>
  void each(Act act) const {
    hsize_t index[max_rank] = {};
    for (hsize_t in_buffer = first(), in_chunk = 0;;) {
      act(in_buffer, in_chunk, row_);
      int axis = outer_ - 1;
      for (; axis >= 0 && ++index[axis] == counts_[axis]; --axis) {
        index[axis] = 0;
        in_buffer -= (counts_[axis] - 1) * buffer_strides_[axis];
        in_chunk -= (counts_[axis] - 1) * chunk_strides_[axis];
      }
      if (axis < 0) return;
      in_buffer += buffer_strides_[axis];
      in_chunk += chunk_strides_[axis];
    }
  }

 private:
  const WholeDataset& whole_;
  hsize_t counts_[max_rank], buffer_strides_[max_rank], chunk_strides_[max_rank];  // strides in bytes
  hsize_t at_ = 0;                                                                 // the first sample, in the dataset
  hsize_t row_;                                                                    // bytes
  int outer_;                                                                      // number of axes along which rows lie
  bool sticks_out_ = false;
};

}  // namespace stz::region
