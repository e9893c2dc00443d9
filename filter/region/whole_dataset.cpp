// Asks HDF5 (whole_dataset.h). Cheap questions come first, as programs make many small requests.
#include "region/whole_dataset.h"

#include <algorithm>
#include <iterator>

#include "hdf5/stream_layout.h"

namespace stz::region {
namespace {

constexpr hsize_t smallest_dataset = 1 << 20;       // bytes; below, starting threads takes as long as they save
constexpr hsize_t largest_element = 16;             // bytes: two float64
constexpr hsize_t smallest_shared_chunk = 8 << 20;  // of a dataset with fewer chunks than threads
constexpr hsize_t largest_chunk = hsize_t{1} << 31;
constexpr hsize_t most_bytes_at_once = hsize_t{1} << 30;  // of the chunks that are worked on; the codec needs some times as much

Way way_of(stz_h5_reason reason) {
  switch (reason) {
    case STZ_H5_DIRECT:
      return Way::threads;
    case STZ_H5_DRIVER:
      return Way::driver;
    case STZ_H5_TRANSFER:
      return Way::transfer;
    case STZ_H5_LAYOUT:
    case STZ_H5_FILTERS:
    case STZ_H5_TYPE:
      return Way::dataset;
    default:
      return Way::refused;
  }
}

// Whether `selected` selects all of the dataset's samples in the order of the file. Its limits may be others, as with read_direct of h5py.
bool is_everything(const Calls& calls, const WholeDataset& whole, int rank, hid_t selected, hsize_t samples) {
  if (selected == space_all) return true;
  const int type = calls.H5Sget_select_type(selected);
  if (type != selection_all && type != selection_hyperslab) return false;
  if (calls.H5Sget_select_npoints(selected) != static_cast<long long>(samples)) return false;
  hsize_t extents[max_rank];
  return calls.H5Sget_simple_extent_ndims(selected) == rank && calls.H5Sget_simple_extent_dims(selected, extents, nullptr) == rank &&
         std::equal(extents, extents + rank, whole.extents) && calls.H5Sselect_valid(selected) > 0;
}

// Whether the selection in memory has as many samples, contiguous and in order. `offset`: samples before them.
bool is_in_order(const Calls& calls, const Request& request, hsize_t samples, hsize_t& offset) {
  offset = 0;
  const hid_t space = request.memory_space == space_all ? request.file_space : request.memory_space;
  if (space == space_all) return true;
  return calls.H5Sget_select_npoints(space) == static_cast<long long>(samples) && calls.H5Sselect_valid(space) > 0 &&
         is_contiguous(calls, space, offset);
}

Way look_at_selection(const Calls& calls, const Request& request, WholeDataset& whole, int& rank) {
  const ScopedId space(calls.H5Sclose, calls.H5Dget_space(request.dataset));
  if (!space.valid()) return Way::refused;
  rank = calls.H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > max_rank) return rank < 0 ? Way::refused : Way::dataset;
  hsize_t limits[max_rank];
  if (calls.H5Sget_simple_extent_dims(space.get(), whole.extents, limits) != rank) return Way::refused;
  whole.may_grow = !std::equal(limits, limits + rank, whole.extents);
  hsize_t samples = 1;
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(samples, whole.extents[axis], &samples)) return Way::refused;
  if (samples < smallest_dataset / largest_element) return Way::small;
  const bool whole_and_in_order =
      is_everything(calls, whole, rank, request.file_space, samples) && is_in_order(calls, request, samples, whole.buffer_offset);
  return whole_and_in_order ? Way::threads : Way::part;
}

Way look_at_client_data(const Calls& calls, hid_t properties, WholeDataset& whole) {
  unsigned flags = 0;
  whole.client_count = STZ_CD_MAX_WORDS;
  if (calls.library->H5Pget_filter2(properties, 0, &flags, &whole.client_count, whole.client_data, 0, nullptr, nullptr) < 0)
    return Way::refused;
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  if (whole.client_count > STZ_CD_MAX_WORDS) return Way::refused;
  if (stz_cd_values_parse(whole.client_count, whole.client_data, &options, &layout, nullptr, 0) != STZ_OK) return Way::refused;
  const bool is_ours = layout.rank >= 0 && hdf5::same_samples(layout, whole.chunk) && hdf5::same_shape(layout, whole.chunk);
  return is_ours ? Way::threads : Way::refused;
}

Way look_at_file(const Calls& calls, hid_t dataset, WholeDataset& whole) {
  const ScopedId file(calls.H5Fclose, calls.H5Iget_file_id(dataset));
  unsigned intent = 0;
  if (!file.valid() || calls.H5Fget_intent(file.get(), &intent) < 0) return Way::refused;
  whole.read_only = intent == read_only;
  return intent & swmr ? Way::swmr : Way::threads;
}

// Sets the sizes. False if they are too large.
bool measure(WholeDataset& whole) {
  hsize_t chunk_bytes = whole.element_size;
  whole.chunks = 1;
  whole.bytes = whole.element_size;
  whole.has_edges = false;
  for (int axis = 0; axis < whole.chunk.rank; ++axis) {
    const hsize_t extent = whole.extents[axis], side = whole.chunk.shape[axis];
    whole.grid[axis] = extent / side + (extent % side != 0);
    whole.has_edges |= extent % side != 0;
    whole.chunks *= whole.grid[axis];  // at most the number of samples
    if (__builtin_mul_overflow(whole.bytes, extent, &whole.bytes) || __builtin_mul_overflow(chunk_bytes, side, &chunk_bytes)) return false;
  }
  whole.chunk_bytes = static_cast<size_t>(chunk_bytes);
  whole.buffer_offset *= whole.element_size;
  return chunk_bytes <= largest_chunk && whole.bytes <= PTRDIFF_MAX;
}

}  // namespace

const char* way_name(Way way) noexcept {
  constexpr const char* names[] = {"threads",   "one thread", "part",  "library", "dataset", "conversion", "transfer", "driver", "swmr",
                                   "raw edges", "small",      "cache", "stored",  "missing", "memory",     "refused",  "failed"};
  static_assert(std::size(names) == ways);
  return names[static_cast<size_t>(way)];
}

void WholeDataset::offset_of(hsize_t number, hsize_t* offset) const {
  for (int axis = chunk.rank - 1; axis >= 0; --axis) {
    offset[axis] = number % grid[axis] * chunk.shape[axis];
    number /= grid[axis];
  }
}

Way look_at_whole(const Calls& calls, const Request& request, WholeDataset& whole) {
  if (!calls.complete) return Way::library;
  if (!request.buffer) return Way::refused;
  int rank = 0;
  if (const Way way = look_at_selection(calls, request, whole, rank); way != Way::threads) return way;
  const hdf5::TypeId type(*calls.library, calls.H5Dget_type(request.dataset));
  if (!type.valid()) return Way::refused;
  DatasetFacts facts;
  if (const stz_h5_reason reason = dataset_facts(calls, request.dataset, type.get(), request.transfer, facts)) return way_of(reason);
  if (facts.chunk.rank != rank) return Way::refused;
  if (calls.H5Tequal(type.get(), request.memory_type) <= 0) return Way::conversion;
  whole.chunk = facts.chunk;
  whole.element_size = facts.element_size;
  if (!measure(whole)) return Way::refused;
  if (whole.has_edges && facts.raw_partial_chunks) return Way::raw_edges;

  const ScopedId properties(calls.H5Pclose, calls.H5Dget_create_plist(request.dataset));
  if (!properties.valid()) return Way::refused;
  std::fill(std::begin(whole.padding), std::end(whole.padding), static_cast<unsigned char>(0));
  if (whole.element_size > sizeof whole.padding) return Way::refused;
  // HDF5 clears new chunks if no fill value is to be written.
  if (!facts.may_skip_missing && calls.library->H5Pget_fill_value(properties.get(), type.get(), whole.padding) < 0) return Way::refused;
  if (const Way way = look_at_client_data(calls, properties.get(), whole); way != Way::threads) return way;
  return look_at_file(calls, request.dataset, whole);
}

Shares share_threads(const WholeDataset& whole, int threads) noexcept {
  if (whole.bytes < smallest_dataset) return {1, 1};
  const hsize_t fit = std::max<hsize_t>(most_bytes_at_once / whole.chunk_bytes, 1);
  const int chunks = static_cast<int>(std::min<hsize_t>({static_cast<hsize_t>(threads), whole.chunks, fit}));
  return {chunks, whole.chunk_bytes >= smallest_shared_chunk ? threads / chunks : 1};
}

ChunkRows::ChunkRows(const WholeDataset& whole, hsize_t number) : whole_(whole) {
  hsize_t offset[max_rank];
  whole.offset_of(number, offset);
  const int rank = whole.chunk.rank;
  hsize_t buffer_stride = whole.element_size, chunk_stride = whole.element_size;
  outer_ = rank - 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const hsize_t side = whole.chunk.shape[axis];
    counts_[axis] = std::min(side, whole.extents[axis] - offset[axis]);
    buffer_strides_[axis] = buffer_stride;
    chunk_strides_[axis] = chunk_stride;
    // A row goes on along the next axis if it fills this one, both in the chunk and in the dataset.
    if (outer_ == axis && axis > 0 && counts_[axis] == side && side == whole.extents[axis]) --outer_;
    sticks_out_ |= counts_[axis] < side;
    buffer_stride *= whole.extents[axis];
    chunk_stride *= side;
  }
  row_ = counts_[outer_] * chunk_strides_[outer_];
  for (int axis = 0; axis < rank; ++axis) at_ = at_ * whole.extents[axis] + offset[axis];
  while (outer_ > 0 && counts_[outer_ - 1] == 1) --outer_;
}

}  // namespace stz::region
