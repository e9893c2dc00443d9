// Checks the request, gathers the chunks' parts into a packed array, converts, and scatters to the buffer. If the samples are contiguous in
// the buffer, the packed array is the buffer itself.
#include "region/read.h"

#include <algorithm>
#include <memory>
#include <new>

#include "region/chunk_part.h"

namespace stz::region {
namespace {

// Reads all chunks that the selection touches, last axis fastest.
Outcome gather(const Transfer& transfer, hid_t type, Message& message) {
  const int rank = transfer.selection.rank;
  std::vector<ChunkAxis> chunks[max_rank];
  size_t which[max_rank] = {};
  for (int axis = 0; axis < rank; ++axis) chunks[axis] = cut_axis(transfer.selection, axis, transfer.facts.chunk.shape[axis]);
  for (;;) {
    const ChunkAxis* axes[max_rank];
    for (int axis = 0; axis < rank; ++axis) axes[axis] = &chunks[axis][which[axis]];
    const Route route = read_chunk_part(transfer, axes, message);
    if (route == Route::failed) return Outcome::failed;
    if (route == Route::missing && transfer.facts.may_skip_missing) {
      transfer.stats.reason = STZ_H5_NO_FILL;
      return Outcome::through_hdf5;
    }
    if (route != Route::direct) {
      if (!read_chunk_part_by_hdf5(transfer, type, axes)) {
        transfer.stats.reason = STZ_H5_REFUSED;
        return Outcome::through_hdf5;
      }
      (route == Route::missing ? transfer.stats.chunks_missing : transfer.stats.chunks_through_hdf5) += 1;
    }
    int axis = rank - 1;
    while (axis >= 0 && ++which[axis] == chunks[axis].size()) which[axis--] = 0;
    if (axis < 0) return Outcome::done;
  }
}

struct Packed {
  const void* samples;
  size_t bytes;
};

// Gives H5Dscatter all samples at once.
herr_t give_packed(const void** source, size_t* bytes, void* context) {
  const auto* packed = static_cast<const Packed*>(context);
  *source = packed->samples;
  *bytes = packed->bytes;
  return 0;
}

// The destination of samples, and their conversion.
struct Target {
  hid_t space;  // has the selection in the buffer
  bool contiguous;
  hsize_t offset;  // in samples, if contiguous
  size_t size;     // of a sample in the buffer
  Conversion conversion;
};

Outcome deliver(const Calls& calls, const Request& request, hid_t type, const Target& target, const FileSelection& selection,
                unsigned char* packed, stz_h5_stats& stats) {
  const auto samples = static_cast<size_t>(selection.samples);
  stats.reason = STZ_H5_REFUSED;
  if (target.conversion == Conversion::numbers &&
      calls.H5Tconvert(type, request.memory_type, samples, packed, nullptr, request.transfer) < 0) {
    return Outcome::through_hdf5;
  }
  Packed source{packed, samples * target.size};
  if (target.contiguous) {
    unsigned char* const place = static_cast<unsigned char*>(request.buffer) + target.offset * target.size;
    if (place != packed) std::copy_n(packed, source.bytes, place);
  } else if (calls.H5Dscatter(give_packed, &source, request.memory_type, target.space, request.buffer) < 0) {
    return Outcome::through_hdf5;
  }
  stats.reason = STZ_H5_DIRECT;
  return Outcome::done;
}

Outcome gather_and_deliver(const Calls& calls, const Request& request, hid_t type, const DatasetFacts& facts,
                           const FileSelection& selection, const Target& target, stz_h5_stats& stats, Message& message) {
  // Conversion works in place. If H5Dread may take over and skip some samples, the buffer must not be changed before.
  const bool in_buffer = target.contiguous && target.size >= facts.element_size && !facts.may_skip_missing;
  std::unique_ptr<unsigned char[]> packed_copy;
  if (!in_buffer) {
    const size_t size = std::max(target.size, facts.element_size);
    if (selection.samples > PTRDIFF_MAX / size) throw std::bad_alloc();
    packed_copy.reset(new unsigned char[static_cast<size_t>(selection.samples) * size]);
  }
  unsigned char* const packed = in_buffer ? static_cast<unsigned char*>(request.buffer) + target.offset * target.size : packed_copy.get();
  const Transfer transfer{calls, request.dataset, request.transfer, facts, selection, packed, stats, request.kept};
  const Outcome outcome = gather(transfer, type, message);
  return outcome == Outcome::done ? deliver(calls, request, type, target, selection, packed, stats) : outcome;
}

// False if the selection in the buffer is invalid or its number of samples differs from that in the file. H5Dread then reports the error.
bool find_target(const Calls& calls, const Request& request, const FileSelection& selection, Target& target) {
  target.space = request.memory_space == space_all ? request.file_space : request.memory_space;
  if (calls.H5Sget_select_npoints(target.space) != static_cast<long long>(selection.samples)) return false;
  if (calls.H5Sselect_valid(target.space) <= 0) return false;
  target.contiguous = is_contiguous(calls, target.space, target.offset);
  target.size = calls.library->H5Tget_size(request.memory_type);
  return target.size > 0;
}

stz_h5_reason check(const Calls& calls, const Request& request, hid_t type, DatasetFacts& facts, FileSelection& selection, Target& target) {
  const ScopedId space(calls.H5Sclose, calls.H5Dget_space(request.dataset));
  if (!space.valid()) return STZ_H5_REFUSED;
  const int selected = calls.H5Sget_select_type(request.file_space);
  if (selected < 0 || calls.H5Sextent_equal(space.get(), request.file_space) <= 0) return STZ_H5_REFUSED;
  if (selected == selection_all) return STZ_H5_WHOLE;
  if (const stz_h5_reason reason = dataset_facts(calls, request.dataset, type, request.transfer, facts)) return reason;
  if (!parse_file_selection(calls, request.file_space, selection)) return STZ_H5_SELECTION;
  if (selection.rank != facts.chunk.rank || !find_target(calls, request, selection, target)) return STZ_H5_REFUSED;
  target.conversion = conversion_between(calls, type, request.memory_type);
  return target.conversion == Conversion::by_hdf5 ? STZ_H5_TYPE : STZ_H5_DIRECT;
}

// For a read of the whole dataset: a dataspace that selects it as a box, as precision layers can be left out for boxes only. Otherwise -1.
hid_t whole_dataset(const Calls& calls, const Request& request) {
  if (request.file_space != space_all && calls.H5Sget_select_type(request.file_space) != selection_all) return -1;
  const hid_t space = calls.H5Dget_space(request.dataset);
  hsize_t extents[max_rank], zeros[max_rank] = {};
  const int rank = space < 0 ? -1 : calls.H5Sget_simple_extent_ndims(space);
  const bool is_box = rank >= 1 && rank <= max_rank && calls.H5Sget_simple_extent_dims(space, extents, nullptr) >= 0 &&
                      calls.H5Sselect_hyperslab(space, select_set, zeros, nullptr, extents, nullptr) >= 0;
  if (is_box || space < 0) return space;
  calls.H5Sclose(space);
  return -1;
}

Request with_file_space(Request request, hid_t space) {
  request.file_space = space;
  return request;
}

}  // namespace

Outcome read_directly(const Calls& calls, const Request& request, stz_h5_stats& stats, Message& message) try {
  const auto through_hdf5 = [&](stz_h5_reason reason) {
    stats.reason = reason;
    return Outcome::through_hdf5;
  };
  if (!calls.complete) return through_hdf5(STZ_H5_LIBRARY);
  const ScopedId everything(calls.H5Sclose, stz_environment_max_error() > 0 ? whole_dataset(calls, request) : -1);
  const Request wanted = everything.valid() ? with_file_space(request, everything.get()) : request;
  if (wanted.file_space == space_all) return through_hdf5(STZ_H5_WHOLE);
  if (!request.buffer) return through_hdf5(STZ_H5_REFUSED);
  const hdf5::TypeId type(*calls.library, calls.H5Dget_type(request.dataset));
  if (!type.valid()) return through_hdf5(STZ_H5_REFUSED);

  DatasetFacts facts;
  FileSelection selection;
  Target target{};
  if (const stz_h5_reason reason = check(calls, wanted, type.get(), facts, selection, target)) return through_hdf5(reason);
  stats.reason = STZ_H5_DIRECT;
  return gather_and_deliver(calls, wanted, type.get(), facts, selection, target, stats, message);
} catch (const std::bad_alloc&) {
  stats.reason = STZ_H5_MEMORY;
  return Outcome::through_hdf5;
}

}  // namespace stz::region
