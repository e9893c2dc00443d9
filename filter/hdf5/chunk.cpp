// Encoding and decoding of one chunk (chunk.h). Decoding calls HDF5 for memory only and believes the stream, not the client
// data; these merely bound what a damaged stream may ask for.
#include "hdf5/chunk.h"

#include <cstdlib>

#include "hdf5/stream_layout.h"
#include "stz.h"
#include "stz_cd_values.h"

namespace stz::hdf5 {
namespace {

// A chunk buffer, from the allocator of the library that will free it (a debug build of HDF5 has one of its own).
class Buffer {
 public:
  Buffer(const Library& library, size_t size)
      : library_(library), data_(library.reachable ? library.H5allocate_memory(size, false) : std::malloc(size)) {}
  ~Buffer() { release(library_, data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

  void replace(void** buffer) {
    release(library_, *buffer);
    *buffer = data_;
    data_ = nullptr;
  }

 private:
  static void release(const Library& library, void* data) {
    if (!data) return;
    if (library.reachable)
      library.H5free_memory(data);
    else
      std::free(data);
  }

  const Library& library_;
  void* data_;
};

u64 array_bytes(const stz_layout& layout) {
  u64 bytes = stz_element_size(layout.dtype);
  for (int axis = 0; axis < layout.rank; ++axis) bytes *= layout.shape[axis];
  return bytes;
}

bool out_of_memory(size_t bytes, Message& message) {
  message.set("out of memory: a buffer of %zu bytes for one chunk; smaller chunks need less", bytes);
  return false;
}

// What a damaged or foreign chunk says of itself must be what the dataset's chunks are, before any memory is asked for.
bool check_stream(const stz_stream_info& info, size_t cd_count, const unsigned* cd_values, Message& message) {
  if (info.array_bytes == 0 || info.array_bytes > STZ_MAX_CHUNK_BYTES) {
    message.set("the chunk is damaged or foreign: it claims to decode to %llu bytes, a chunk has 1 byte to 4 GiB",
                static_cast<unsigned long long>(info.array_bytes));
    return false;
  }
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  if (stz_cd_values_parse(cd_count, cd_values, &options, &layout, nullptr, 0) != STZ_OK || layout.rank < 0) return true;
  const u64 expected = array_bytes(layout);
  if (info.array_bytes != expected) {
    message.set("the chunk is damaged or of another dataset: it decodes to %llu bytes, a chunk here has %llu",
                static_cast<unsigned long long>(info.array_bytes), static_cast<unsigned long long>(expected));
    return false;
  }
  if (!same_samples(info.layout, layout)) {
    message.set("the chunk is of another dataset: its element type or byte order (%d, %d) is not the dataset's (%d, %d)", info.layout.dtype,
                info.layout.byte_order, layout.dtype, layout.byte_order);
    return false;
  }
  if (!same_raster(info.layout, layout)) {
    message.set("the chunk is of another dataset: it is an array of shape (%s), a chunk here has the shape (%s)",
                ListText(info.layout.shape, info.layout.rank).text, ListText(layout.shape, layout.rank).text);
    return false;
  }
  return true;
}

}  // namespace

size_t encode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message) {
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  if (stz_cd_values_parse(cd_count, cd_values, &options, &layout, message.text, sizeof message.text) != STZ_OK) return 0;
  if (layout.rank < 0) {
    message.set(
        "cd_values do not tell the chunk's type and shape, and the HDF5 library that calls offers no function to ask: give "
        "the full form (103)");
    return 0;
  }
  const u64 expected = array_bytes(layout);
  if (bytes != expected) {
    message.set("the chunk has %zu bytes, type and shape in cd_values make %llu: give the dataset's own", bytes,
                static_cast<unsigned long long>(expected));
    return 0;
  }
  const size_t capacity = stz_max_compressed_size(&layout);
  Buffer out(library, capacity);
  if (!out.data()) return out_of_memory(capacity, message);
  stz_find_missing_value(&layout, *buffer, &options);
  if (const int threads = stz_environment_threads()) options.threads = threads;  // who runs the program decides, not the file
  size_t size = 0;
  const int error = stz_compress(&layout, *buffer, &options, out.data(), capacity, &size);
  if (error) {
    message.set("compressing a chunk failed: %s (error %d)", stz_error_text(error), error);
    return 0;
  }
  out.replace(buffer);
  *buffer_size = capacity;
  return size;
}

size_t decode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  int error = stz_info(*buffer, bytes, &info);
  if (error) {
    message.set("a chunk of %zu bytes cannot be read: %s (error %d)", bytes, stz_error_text(error), error);
    return 0;
  }
  if (!check_stream(info, cd_count, cd_values, message)) return 0;
  const auto size = static_cast<size_t>(info.array_bytes);
  Buffer out(library, size);
  if (!out.data()) return out_of_memory(size, message);
  error = stz_decompress_threads(*buffer, bytes, out.data(), size, stz_environment_threads());
  if (error) {
    message.set("a chunk of %zu bytes cannot be decoded: %s (error %d); restore the file from a copy", bytes, stz_error_text(error), error);
    return 0;
  }
  out.replace(buffer);
  *buffer_size = size;
  return size;
}

}  // namespace stz::hdf5
