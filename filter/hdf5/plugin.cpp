// The HDF5 filter plug-in: the two entry points that HDF5 looks up and the three callbacks of the filter.
// Each callback takes its return address itself, to know which libhdf5 it serves. It throws nothing, and prints nothing unless
// H5STZ_STDERR asks for it. The plug-in keeps only tables of libraries, the latest errors, and the memory of recognition/.
#include "base/floating_environment.h"
#include "base/thread_memory.h"
#include "hdf5/chunk.h"
#include "hdf5/chunk_functions.h"
#include "hdf5/dataset.h"
#include "hdf5/last_error.h"
#include "hdf5/learned_chunks.h"
#include "hdf5/library.h"
#include "hdf5/trained_chunks.h"
#include "recognition/memory.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz::hdf5 {
namespace {

// Runs `body(library, message)` in the codec's floating-point environment. An error that it reports or throws goes to the error stack and
// is recorded (last_error.h); `failed` is returned then.
template <class Result, class Body>
Result guarded(const void* return_address, const char* callback, Result failed, Body body) noexcept {
  const FloatingEnvironment environment;
  const Library* const library = calling_library(return_address);
  Message message;
  if (!thread_has_memory()) message.set("out of memory: not even the variables of a thread");
  const Result result = message.text[0] ? failed : catch_all(message, failed, [&] { return body(*library, message); });
  if (result == failed) {
    record_error(callback, message);
    push_error(*library, callback, message);
  }
  return result;
}

// HDF5 obeys can_apply for mandatory filters only, and set_local for all filters; so both check. Without a reachable library nothing can
// be checked: the client data then stay as the user gave them.
herr_t can_apply(hid_t properties, hid_t type, hid_t) {
  return guarded(__builtin_return_address(0), "can_apply", 0, [&](const Library& library, Message& message) -> herr_t {
    ElementType element;
    return !library.reachable || check_dataset(library, properties, type, element, message) ? 1 : 0;
  });
}

herr_t set_local(hid_t properties, hid_t type, hid_t) {
  return guarded(__builtin_return_address(0), "set_local", -1, [&](const Library& library, Message& message) -> herr_t {
    if (!library.reachable) return 1;
    ElementType element;
    const bool done =
        check_dataset(library, properties, type, element, message) && complete_cd_values(library, properties, type, element, message);
    return done ? 1 : -1;
  });
}

size_t filter(unsigned flags, size_t cd_count, const unsigned cd_values[], size_t bytes, size_t* buffer_size, void** buffer) {
  return guarded(__builtin_return_address(0), "filter", size_t{0}, [&](const Library& library, Message& message) {
    const auto run = flags & flag_reverse ? decode_chunk : encode_chunk;
    return run(library, cd_count, cd_values, bytes, buffer_size, buffer, message);
  });
}

// The frame of the functions for other libraries. The message is dropped: they let HDF5 repeat what failed.
template <class Body>
size_t without_message(void* out, size_t capacity, Body body) noexcept {
  const FloatingEnvironment environment;
  Message unused;
  if (!thread_has_memory()) return 0;
  const auto allocate = [&](size_t bytes) { return bytes <= capacity ? out : nullptr; };
  return catch_all(unused, size_t{0}, [&] { return body(allocate, unused); });
}

constexpr ChunkFunctions chunk_functions_here = {
    [](size_t count, const unsigned* values, u64 chunks, const void* (*gather)(void*, u64), void* context) -> stz_learned* {
      const FloatingEnvironment environment;
      Message unused;
      if (!thread_has_memory()) return nullptr;
      const auto chunk = [&](u64 number) { return gather(context, number); };
      return catch_all(unused, static_cast<stz_learned*>(nullptr), [&] { return train_on_chunks(count, values, chunks, chunk); });
    },
    [](stz_learned* trained) { stz_learned_free(trained); },
    [](size_t count, const unsigned* values, const void* dataset, stz_learned* trained, const void* samples, size_t bytes, int threads,
       void* out, size_t capacity) {
      return without_message(out, capacity, [&](Allocate allocate, Message& message) {
        const ChunkLearning learning{has_predictions(count, values), trained};
        return encode_samples({count, values, dataset}, learning, samples, bytes, threads, allocate, message);
      });
    },
    [](size_t count, const unsigned* values, const void* dataset, const void* stream, size_t bytes, int threads, void* out,
       size_t capacity) {
      return without_message(out, capacity, [&](Allocate allocate, Message& message) {
        return decode_stream({count, values, dataset}, {threads}, stream, bytes, allocate, message);
      });
    },
};

static_assert(STZ_FILTER_ID >= 256 && STZ_FILTER_ID <= 65535,
              "HDF5 keeps numbers below 256 for filters of its own; up to 32767 The HDF Group registers them, the rest is for private use");

constexpr FilterClass filter_class = {
    filter_class_version, STZ_FILTER_ID, 1, 1, "h5stz", can_apply, set_local, filter,
};

}  // namespace
}  // namespace stz::hdf5

extern "C" {

STZ_API int H5PLget_plugin_type() { return stz::hdf5::plugin_type_filter; }

STZ_API const void* H5PLget_plugin_info() { return &stz::hdf5::filter_class; }

// The name is chunk_functions_name.
STZ_API const void* stz_chunk_functions_1() { return &stz::hdf5::chunk_functions_here; }

// Forgets the decoded chunks (recognition/memory.h), so that the next stream depends on its samples and options alone.
STZ_API void stz_h5_forget() { stz::recognition::forget(); }

}  // extern "C"
