// Chunks for programs that compress and decode several at a time and pass the streams to HDF5, or take them from it, themselves
// (H5Dwrite_chunk, H5Dread_chunk). The memory of chunks knows them as it knows those that pass through the filter, so that rewriting keeps
// its promises. These functions call no HDF5 and are thread-safe. They are for the Python package and are in no header.
#include "base/floating_environment.h"
#include "base/thread_memory.h"
#include "hdf5/chunk.h"
#include "hdf5/last_error.h"
#include "hdf5/learned_chunks.h"

namespace stz::hdf5 {
namespace {

// The addresses of these tell no dataset from another: the memory of chunks has no hints for chunks from here, which are those of new
// datasets, and takes no chunk that was decoded here for one of a dataset that HDF5 writes.
const char encoded_here[2] = {}, *const decoded_here = encoded_here + 1;

template <class Body>
size_t direct(const char* function, char* text, size_t text_size, Body body) noexcept {
  const FloatingEnvironment environment;
  Message message;
  if (!thread_has_memory()) message.set("out of memory: not even the variables of a thread");
  const size_t result = message.text[0] ? 0 : catch_all(message, size_t{0}, [&] { return body(message); });
  if (result) return result;
  record_error(function, message);
  message.copy_to(text, text_size);
  return 0;
}

}  // namespace
}  // namespace stz::hdf5

extern "C" {

// Compresses the `bytes` bytes of a chunk with the client data of its dataset, as the filter does without learning (H5STZ_LEARN=0), into
// `out`, which has at least stz_max_compressed_size() bytes. `threads` replaces the number in the client data. Returns the length of the
// stream; 0 after an error, with its text.
STZ_API size_t stz_h5_encode_chunk(size_t cd_count, const unsigned* cd_values, const void* samples, size_t bytes, int threads, void* out,
                                   size_t capacity, char* text, size_t text_size) {
  using namespace stz::hdf5;
  return direct("encode_chunk", text, text_size, [&](stz::Message& message) {
    const ChunkLearning learning{has_predictions(cd_count, cd_values), nullptr};
    const auto allocate = [&](size_t needed) { return needed <= capacity ? out : nullptr; };
    return encode_samples({cd_count, cd_values, encoded_here}, learning, samples, bytes, threads, allocate, message);
  });
}

// Decodes the `bytes` bytes of a stream, as the filter does, into `out`, which has exactly `out_size` bytes. `threads`, `verify`: see
// stz.h. `remember`: whether the chunk is recognised when it is written again. Returns 1; 0 after an error, with its text.
STZ_API int stz_h5_decode_chunk(size_t cd_count, const unsigned* cd_values, const void* stream, size_t bytes, void* out, size_t out_size,
                                int threads, int verify, int remember, char* text, size_t text_size) {
  using namespace stz::hdf5;
  return direct("decode_chunk", text, text_size, [&](stz::Message& message) {
           size_t decoded = out_size;
           const auto allocate = [&](size_t needed) { return (decoded = needed) == out_size ? out : nullptr; };
           const ChunkDecoding how{threads, verify != 0, remember != 0};
           const size_t size = decode_stream({cd_count, cd_values, decoded_here}, how, stream, bytes, allocate, message);
           if (decoded != out_size) message.set("the buffer of a chunk has %zu bytes, but it decodes to %zu", out_size, decoded);
           return size;
         }) != 0;
}

}  // extern "C"
