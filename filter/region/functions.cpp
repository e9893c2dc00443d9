// The C functions of stz_h5.h: they find the caller's HDF5, count, and put errors on the error stack. No exception leaves them. If H5Dread
// takes over a read, it is the last call, so that its own errors stay on the stack.
#include "base/struct_size.h"
#include "base/thread_memory.h"
#include "region/read.h"

template <>
inline constexpr size_t stz::first_struct_size<stz_h5_stats> = STZ_SIZE_UP_TO(stz_h5_stats, reserved);

namespace stz::region {
namespace {

herr_t read(const Calls& calls, const char* function, const Request& request, stz_h5_stats& stats) noexcept {
  Message message;
  stats.reads += 1;
  const Outcome outcome = catch_all(message, Outcome::failed, [&] {
    if (!thread_has_memory()) {
      stats.reason = STZ_H5_MEMORY;
      return Outcome::through_hdf5;
    }
    if (!calls.complete) return read_directly(calls, request, stats, message);
    const SuppressErrors suppressed(calls);
    return read_directly(calls, request, stats, message);
  });
  if (outcome == Outcome::through_hdf5) {
    stats.reads_through_hdf5 += 1;
    return calls.H5Dread(request.dataset, request.memory_type, request.memory_space, request.file_space, request.transfer, request.buffer);
  }
  if (calls.complete) calls.H5Eclear2(hdf5::default_error_stack);  // drops errors of our own probing calls
  if (outcome == Outcome::done) return 0;
  push_error(*calls.library, function, message);
  return -1;
}

// Selects the box of a level in `space`, or sets `empty` if a count is 0. False with a message if the box is impossible.
bool select_level(const Calls& calls, hid_t space, int level, const hsize_t* start, const hsize_t* count, bool& empty, Message& message) {
  hsize_t extents[STZ_MAX_RANK], first[STZ_MAX_RANK], stride[STZ_MAX_RANK], counts[STZ_MAX_RANK];
  const int rank = calls.H5Sget_simple_extent_ndims(space);
  if (level < 0 || level > 62) {
    message.set("level %d does not exist: levels are 0 (the dataset itself) to 62 (every 2^62-th sample)", level);
    return false;
  }
  if (rank < 1 || rank > STZ_MAX_RANK || calls.H5Sget_simple_extent_dims(space, extents, nullptr) < 0) {
    message.set("the dataset has no axes: read it with stz_h5_read");
    return false;
  }
  if (!start || !count) {
    message.set("start or count is a null pointer: each must point to %d numbers, one for each axis", rank);
    return false;
  }
  empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t samples = extents[axis] ? ((extents[axis] - 1) >> level) + 1 : 0;
    if (start[axis] > samples || count[axis] > samples - start[axis]) {
      message.set("axis %d of level %d has %llu samples: a box of %llu from %llu on does not fit", axis, level, samples,
                  static_cast<hsize_t>(count[axis]), static_cast<hsize_t>(start[axis]));
      return false;
    }
    empty = empty || count[axis] == 0;
    first[axis] = start[axis] << level;
    stride[axis] = count[axis] > 1 ? hsize_t{1} << level : 1;
    counts[axis] = count[axis];
  }
  if (empty || calls.H5Sselect_hyperslab(space, select_set, first, stride, counts, nullptr) >= 0) return true;
  message.set("HDF5 refused to select the box: check that the dataset is open");
  return false;
}

herr_t read_level(const Calls& calls, int level, const hsize_t* start, const hsize_t* count, Request request,
                  stz_h5_stats& stats) noexcept {
  static constexpr const char* function = "stz_h5_read_level";
  Message message;
  herr_t status = -1;
  bool selected = false;
  {
    SavedErrorStack errors(calls);  // closing the dataspaces would clear the stack
    const ScopedId file(calls.H5Sclose, calls.H5Dget_space(request.dataset));
    if (!file.valid()) {
      errors.keep();
      return -1;
    }
    bool empty = false;
    selected = select_level(calls, file.get(), level, start, count, empty, message);
    if (empty) return 0;
    if (selected) {
      const ScopedId memory(calls.H5Sclose, calls.H5Screate_simple(calls.H5Sget_simple_extent_ndims(file.get()), count, nullptr));
      request.memory_space = memory.get();
      request.file_space = file.get();
      status = read(calls, function, request, stats);
      if (status < 0) errors.keep();
    }
  }
  if (!selected) push_error(*calls.library, function, message);
  return status;
}

// The caller's statistics, in the structure of this version, while a call runs. Nothing is counted if the caller wants none.
class CallStats {
 public:
  explicit CallStats(stz_h5_stats* given) : given_(given && valid_struct_size(given) ? given : nullptr), valid_(!given || given_) {
    if (given_) memcpy(&full_, given_, std::min(sizeof full_, given_->struct_size));
  }
  ~CallStats() {
    if (!given_) return;
    full_.struct_size = given_->struct_size;
    memcpy(given_, &full_, std::min(sizeof full_, given_->struct_size));
  }
  CallStats(const CallStats&) = delete;

  stz_h5_stats& full() { return full_; }

  // Whether struct_size is possible; if not, a message is left on the error stack.
  bool valid(const Calls& calls, const char* function) const {
    if (valid_) return true;
    Message message;
    message.set("struct_size of the statistics is not set: initialise them with STZ_H5_STATS_INIT");
    push_error(*calls.library, function, message);
    return false;
  }

 private:
  stz_h5_stats full_{};
  stz_h5_stats* const given_;
  const bool valid_;
};

}  // namespace

herr_t read_for(const void* caller, const Request& request, stz_h5_stats* stats) noexcept {
  const Calls* const calls = calls_at(caller);
  if (!calls || !calls->H5Dread) return -1;
  CallStats counted(stats);
  return counted.valid(*calls, "stz_h5_read_stats") ? read(*calls, "stz_h5_read", request, counted.full()) : -1;
}

herr_t read_level_for(const void* caller, int level, const hsize_t* start, const hsize_t* count, const Request& request,
                      stz_h5_stats* stats) noexcept {
  const Calls* const calls = calls_at(caller);
  if (!calls || !calls->complete) return -1;
  CallStats counted(stats);
  return counted.valid(*calls, "stz_h5_read_level_stats") ? read_level(*calls, level, start, count, request, counted.full()) : -1;
}

}  // namespace stz::region

extern "C" {

using stz::hdf5::default_properties;
using stz::hdf5::space_all;

STZ_API herr_t stz_h5_read(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf) {
  return stz::region::read_for(__builtin_return_address(0), {dset, mem_type, mem_space, file_space, dxpl, buf}, nullptr);
}

STZ_API herr_t stz_h5_read_stats(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf,
                                 stz_h5_stats* stats) {
  return stz::region::read_for(__builtin_return_address(0), {dset, mem_type, mem_space, file_space, dxpl, buf}, stats);
}

STZ_API herr_t stz_h5_read_level(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf) {
  return stz::region::read_level_for(__builtin_return_address(0), level, start, count,
                                     {dset, mem_type, space_all, space_all, default_properties, buf}, nullptr);
}

STZ_API herr_t stz_h5_read_level_stats(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf,
                                       stz_h5_stats* stats) {
  return stz::region::read_level_for(__builtin_return_address(0), level, start, count,
                                     {dset, mem_type, space_all, space_all, default_properties, buf}, stats);
}

STZ_API const char* stz_h5_reason_text(int reason) {
  switch (reason) {
#define STZ_H5_REASON_TEXT(name, value, text) \
  case name:                                  \
    return text;
    STZ_H5_REASONS(STZ_H5_REASON_TEXT)
#undef STZ_H5_REASON_TEXT
    default:
      return "unknown reason";
  }
}

}  // extern "C"
