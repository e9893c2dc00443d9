// One chunk (chunk_part.h). A stream is read directly only if its type, byte order and shape are those of the dataset's chunks. HDF5 reads
// all others.
#include "region/chunk_part.h"

#include <cstring>
#include <memory>
#include <new>

#include "base/floating_environment.h"
#include "hdf5/stream_layout.h"
#include "stz_reader.h"

namespace stz::region {
namespace {

using Bytes = std::unique_ptr<unsigned char[]>;

// The array is not cleared. Throws std::bad_alloc if it is too large.
Bytes allocate(hsize_t size) {
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  return Bytes(new unsigned char[static_cast<size_t>(size)]);
}

// Parts are read directly only from streams of exactly the chunk's shape. HDF5 reads the others, and the filter reports their errors.
bool same_layout(const stz_layout& stream, const stz_layout& chunk) {
  return hdf5::same_samples(stream, chunk) && hdf5::same_shape(stream, chunk);
}

bool sticks_out(const Transfer& transfer, const hsize_t* offset) {
  for (int axis = 0; axis < transfer.selection.rank; ++axis)
    if (transfer.facts.chunk.shape[axis] > transfer.selection.extents[axis] - offset[axis]) return true;
  return false;
}

void chunk_offset(const Transfer& transfer, const ChunkAxis* const* axes, hsize_t* offset) {
  for (int axis = 0; axis < transfer.selection.rank; ++axis) offset[axis] = axes[axis]->index * transfer.facts.chunk.shape[axis];
}

// A box of the chunk, one span of each axis.
struct Box {
  u64 start[max_rank], count[max_rank], step[max_rank];
  const Span* spans[max_rank];
  hsize_t samples;  // number of decoded samples
  bool all_picked;
};

Box box_of(const ChunkAxis* const* axes, const size_t* which, int rank) {
  Box box;
  box.samples = 1;
  box.all_picked = true;
  for (int axis = 0; axis < rank; ++axis) {
    const Span& span = axes[axis]->spans[which[axis]];
    box.start[axis] = span.start;
    box.count[axis] = span.count;
    box.step[axis] = span.step;
    box.spans[axis] = &span;
    box.samples *= span.count;
    box.all_picked = box.all_picked && span.picks.empty();
  }
  return box;
}

// The box's first sample in the packed array if its samples are contiguous there, else null.
unsigned char* packed_run(const Transfer& transfer, const Box& box) {
  const FileSelection& selection = transfer.selection;
  hsize_t at = 0;
  bool partial = false;
  for (int axis = selection.rank - 1; axis >= 0; --axis) {
    if (!box.all_picked || (partial && box.count[axis] > 1)) return nullptr;
    partial = partial || box.count[axis] < selection.shape[axis];
  }
  for (int axis = 0; axis < selection.rank; ++axis) at = at * selection.shape[axis] + box.spans[axis]->packed;
  return transfer.packed + at * transfer.facts.element_size;
}

template <size_t word_size>
void copy_picks(unsigned char* to, const unsigned char* from, const std::vector<hsize_t>& picks) {
  for (const hsize_t pick : picks) {
    std::memcpy(to, from + pick * word_size, word_size);
    to += word_size;
  }
}

// Copies the selected samples of a row.
void copy_row(unsigned char* to, const unsigned char* from, const Span& span, size_t size) {
  if (span.picks.empty()) {
    std::memcpy(to, from, span.count * size);
    return;
  }
  switch (size) {
    case 1:
      return copy_picks<1>(to, from, span.picks);
    case 2:
      return copy_picks<2>(to, from, span.picks);
    case 4:
      return copy_picks<4>(to, from, span.picks);
    case 8:
      return copy_picks<8>(to, from, span.picks);
    default:
      return copy_picks<16>(to, from, span.picks);
  }
}

// Copies the selected samples of a box, row by row, to their places in the packed array.
void place(const Transfer& transfer, const Box& box, const unsigned char* samples) {
  const int last = transfer.selection.rank - 1;
  const size_t size = transfer.facts.element_size;
  hsize_t index[max_rank] = {};  // among the selected samples; 0 along the last axis
  for (int axis = 0; axis >= 0;) {
    hsize_t from = 0, to = 0;
    for (axis = 0; axis <= last; ++axis) {
      const Span& span = *box.spans[axis];
      const hsize_t pick = axis == last ? 0 : span.picks.empty() ? index[axis] : span.picks[index[axis]];
      from = from * span.count + pick;
      to = to * transfer.selection.shape[axis] + span.packed + index[axis];
    }
    copy_row(transfer.packed + to * size, samples + from * size, *box.spans[last], size);
    for (axis = last - 1; axis >= 0 && ++index[axis] == box.spans[axis]->selected(); --axis) index[axis] = 0;
  }
}

int decode_box(const Transfer& transfer, stz_reader* reader, const Box& box) {
  const hsize_t bytes = box.samples * transfer.facts.element_size;
  unsigned char* const run = packed_run(transfer, box);
  const Bytes temporary = run ? nullptr : allocate(bytes);
  unsigned char* const out = run ? run : temporary.get();
  const int error = stz_reader_read(reader, box.start, box.count, box.step, out, static_cast<size_t>(bytes), stz_environment_threads());
  if (!error && !run) place(transfer, box, out);
  return error;
}

// Decodes the boxes of all combinations of the axes' spans.
int decode_boxes(const Transfer& transfer, stz_reader* reader, const ChunkAxis* const* axes) {
  const int rank = transfer.selection.rank;
  size_t which[max_rank] = {};
  for (;;) {
    if (const int error = decode_box(transfer, reader, box_of(axes, which, rank))) return error;
    int axis = rank - 1;
    while (axis >= 0 && ++which[axis] == axes[axis]->spans.size()) which[axis--] = 0;
    if (axis < 0) return STZ_OK;
  }
}

void describe(const hsize_t* offset, int rank, int error, Message& message) {
  const ListText place(offset, rank);
  if (error == STZ_ERROR_MEMORY)
    message.set("the chunk at (%s) cannot be decoded: out of memory; read less at once, or store smaller chunks", place.text);
  else
    message.set("the chunk at (%s) cannot be decoded: %s (error %d); restore the file from a copy", place.text, stz_error_text(error),
                error);
}

bool single_box(const Transfer& transfer, const ChunkAxis* const* axes) {
  for (int axis = 0; axis < transfer.selection.rank; ++axis)
    if (axes[axis]->spans.size() > 1) return false;
  return true;
}

// Boxes of one chunk share blocks, so all blocks are cached until the chunk is done. A single box needs each block once.
u64 cache_limit(const Transfer& transfer, const ChunkAxis* const* axes) { return single_box(transfer, axes) ? 0 : UINT64_MAX; }

int decode_chunk(const Transfer& transfer, const ChunkAxis* const* axes, stz_reader* reader, stz_reader_stats& decoded) {
  if (const int error = decode_boxes(transfer, reader, axes)) return error;
  return stz_reader_get_stats(reader, &decoded);
}

void count(const stz_reader_stats& decoded, u64 fetched, stz_h5_stats& stats) {
  stats.chunks_direct += 1;
  stats.bytes_read += fetched;
  stats.bytes_used += decoded.bytes_read;
  stats.blocks_decoded += decoded.blocks_decoded;
  stats.blocks_present += decoded.blocks_present;
}

// Whether range requests are cheaper than reading the whole stored chunk. To find its address, HDF5 may look at every chunk of the dataset;
// each costs as much as reading about 128 bytes. Ranges of a small chunk, or of most of a chunk, save nothing, unless precision layers are
// left out.
bool ranges_pay(const Transfer& transfer, const ChunkAxis* const* axes, hsize_t stored) {
  const FloatingEnvironment environment;
  constexpr double cheap_bytes = 65536, bytes_per_lookup = 128;
  double chunks = 1, part = 1;
  for (int axis = 0; axis < transfer.selection.rank; ++axis) {
    const auto extent = static_cast<double>(transfer.facts.chunk.shape[axis]);
    hsize_t decoded = 0;
    for (const Span& span : axes[axis]->spans) decoded += span.count;
    chunks *= static_cast<double>(transfer.selection.extents[axis]) / extent + 1;
    part *= static_cast<double>(decoded) / extent;
  }
  return (part <= 0.5 || stz_environment_max_error() > 0) && static_cast<double>(stored) >= cheap_bytes + bytes_per_lookup * chunks;
}

// Fetches the ranges that the part needs with pread. Returns false and counts nothing if anything is unexpected.
bool decode_ranges(const Transfer& transfer, const ChunkAxis* const* axes, const hsize_t* offset) {
  const Calls& calls = transfer.calls;
  unsigned mask = 1;
  u64 address = no_address;
  hsize_t size = 0;
  if (!calls.H5Dget_chunk_info_by_coord || calls.H5Dget_chunk_info_by_coord(transfer.dataset, offset, &mask, &address, &size) < 0 ||
      mask != 0 || address == no_address) {
    return false;
  }
  const auto decode_with = [&](stz_reader* reader) {
    stz_stream_info info = STZ_STREAM_INFO_INIT;
    stz_reader_stats before = STZ_READER_STATS_INIT, decoded = STZ_READER_STATS_INIT;
    if (stz_reader_info(reader, &info) != STZ_OK || !same_layout(info.layout, transfer.facts.chunk)) return false;
    if (stz_reader_get_stats(reader, &before) != STZ_OK || decode_chunk(transfer, axes, reader, decoded) != STZ_OK) return false;
    decoded.bytes_read -= before.bytes_read;
    decoded.blocks_decoded -= before.blocks_decoded;
    count(decoded, decoded.bytes_read, transfer.stats);
    transfer.stats.chunks_by_ranges += 1;
    return true;
  };
  if (transfer.kept && transfer.kept->with(transfer.facts.descriptor, address, size, decode_with)) return true;
  stz_reader* opened = nullptr;
  const int error = stz_reader_open_file(transfer.facts.descriptor, address, size, cache_limit(transfer, axes), &opened);
  const Reader reader(opened);
  return !error && obey_environment(opened) == STZ_OK && decode_with(opened);
}

Route decode_stored(const Transfer& transfer, const ChunkAxis* const* axes, const unsigned char* stored, size_t size, int& error) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  if (stz_info(stored, size, &info) != STZ_OK || !same_layout(info.layout, transfer.facts.chunk)) return Route::by_hdf5;
  stz_reader* opened = nullptr;
  stz_reader_stats decoded = STZ_READER_STATS_INIT;
  error = stz_reader_open_memory(stored, size, cache_limit(transfer, axes), &opened);
  const Reader reader(opened);
  if (!error) error = obey_environment(opened);
  if (!error) error = decode_chunk(transfer, axes, opened, decoded);
  if (error) return Route::failed;
  count(decoded, size, transfer.stats);
  return Route::direct;
}

}  // namespace

Route read_chunk_part(const Transfer& transfer, const ChunkAxis* const* axes, Message& message) {
  hsize_t offset[max_rank], size = 0;
  chunk_offset(transfer, axes, offset);
  // Raw bytes could look like a stream.
  if (transfer.facts.raw_partial_chunks && sticks_out(transfer, offset)) return Route::by_hdf5;
  // If a chunk is not in the file, some versions of HDF5 give 0 bytes, others fail.
  if (transfer.calls.H5Dget_chunk_storage_size(transfer.dataset, offset, &size) < 0 || size == 0) return Route::missing;
  // An error here occurs again below, where it is reported.
  if (transfer.facts.descriptor >= 0 && (transfer.kept || ranges_pay(transfer, axes, size)) && decode_ranges(transfer, axes, offset))
    return Route::direct;

  const Bytes stored = allocate(size);
  u32 mask = 0;
  const bool fetched =
      read_stored_chunk(transfer.calls, transfer.dataset, transfer.properties, offset, static_cast<size_t>(size), mask, stored.get());
  if (!fetched || mask != 0) return Route::by_hdf5;
  int error = STZ_OK;
  const Route route = decode_stored(transfer, axes, stored.get(), static_cast<size_t>(size), error);
  if (route == Route::failed) describe(offset, transfer.selection.rank, error, message);
  return route;
}

bool read_chunk_part_by_hdf5(const Transfer& transfer, hid_t type, const ChunkAxis* const* axes) {
  const Calls& calls = transfer.calls;
  const FileSelection& selection = transfer.selection;
  hsize_t offset[max_rank], packed[max_rank], shape[max_rank], extent[max_rank];
  chunk_offset(transfer, axes, offset);
  for (int axis = 0; axis < selection.rank; ++axis) {
    packed[axis] = axes[axis]->packed;
    shape[axis] = axes[axis]->shape;
    extent[axis] = transfer.facts.chunk.shape[axis];
  }
  hsize_t ones[max_rank];
  for (hsize_t& one : ones) one = 1;
  const ScopedId file(calls.H5Sclose, calls.H5Screate_simple(selection.rank, selection.extents, nullptr));
  const ScopedId memory(calls.H5Sclose, calls.H5Screate_simple(selection.rank, selection.shape, nullptr));
  return file.valid() && memory.valid() &&
         calls.H5Sselect_hyperslab(file.get(), select_set, selection.start, selection.stride, selection.count, selection.block) >= 0 &&
         calls.H5Sselect_hyperslab(file.get(), select_and, offset, nullptr, ones, extent) >= 0 &&
         calls.H5Sselect_hyperslab(memory.get(), select_set, packed, nullptr, shape, nullptr) >= 0 &&
         calls.H5Dread(transfer.dataset, type, memory.get(), file.get(), transfer.properties, transfer.packed) >= 0;
}

}  // namespace stz::region
