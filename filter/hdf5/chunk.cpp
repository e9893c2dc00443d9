// Encoding and decoding of one chunk (chunk.h). Both call HDF5 for memory only. Decoding believes the stream, not the client data, which
// only limit the memory that a damaged stream can ask for.
#include "hdf5/chunk.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/element_type.h"
#include "hdf5/chunk_buffer.h"
#include "hdf5/learned_chunks.h"
#include "hdf5/stream_layout.h"
#include "recognition/memory.h"
#include "stz.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz::hdf5 {
namespace {

u64 array_bytes(const stz_layout& layout) {
  u64 bytes = stz_element_size(layout.dtype);
  for (int axis = 0; axis < layout.rank; ++axis) bytes *= layout.shape[axis];
  return bytes;
}

bool out_of_memory(size_t bytes, Message& message) {
  message.set("out of memory: one chunk needs a buffer of %zu bytes; smaller chunks need less", bytes);
  return false;
}

constexpr u64 most_array_bytes = ~size_t{0} >> 1;
// The limit if client data do not tell the chunk's size, as a stream of a few bytes may claim any size. It is HDF5's own before 2.0.
constexpr u64 most_unknown_bytes = u64{1} << 32;

// Client data may be missing, or come from a later version or other software. Then the stream alone describes the chunk.
struct ClientData {
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  bool has_layout;

  ClientData(size_t count, const unsigned* values)
      : has_layout(stz_cd_values_parse(count, values, &options, &layout, nullptr, 0) == STZ_OK && layout.rank >= 0) {}
};

// Compares the stream's layout with that of the dataset's chunks before memory is allocated, as the chunk may be damaged or foreign.
bool check_stream(const stz_stream_info& info, const ClientData& client, Message& message) {
  if (info.array_bytes == 0 || info.array_bytes > most_array_bytes) {
    message.set("the chunk is damaged or foreign: it claims to decode to %llu bytes; restore the file from a copy",
                static_cast<unsigned long long>(info.array_bytes));
    return false;
  }
  const u64 allowed = stz_environment_max_bytes();
  if (allowed != 0 && info.array_bytes > allowed) {
    message.set("the chunk claims to decode to %llu bytes, more than H5STZ_MAX_BYTES=%llu: set it to a larger number if you trust the file",
                static_cast<unsigned long long>(info.array_bytes), static_cast<unsigned long long>(allowed));
    return false;
  }
  if (!client.has_layout) {
    if (allowed != 0 || info.array_bytes <= most_unknown_bytes) return true;
    message.set(
        "the chunk claims to decode to %llu bytes, and the client data do not say how large chunks are: set H5STZ_MAX_BYTES to this "
        "number if you trust the file",
        static_cast<unsigned long long>(info.array_bytes));
    return false;
  }
  const stz_layout& layout = client.layout;
  const u64 expected = array_bytes(layout);
  if (info.array_bytes != expected) {
    message.set(
        "the chunk is damaged or of another dataset: it decodes to %llu bytes, but a chunk here has %llu; restore the file from a copy",
        static_cast<unsigned long long>(info.array_bytes), static_cast<unsigned long long>(expected));
    return false;
  }
  if (!same_samples(info.layout, layout)) {
    message.set("the chunk is of another dataset: its element type or byte order (%d, %d) is not the dataset's (%d, %d)", info.layout.dtype,
                info.layout.byte_order, layout.dtype, layout.byte_order);
    return false;
  }
  if (!same_raster(info.layout, layout)) {
    message.set("the chunk is of another dataset: it is an array of shape (%s), but a chunk here has the shape (%s)",
                ListText(info.layout.shape, info.layout.rank).text, ListText(layout.shape, layout.rank).text);
    return false;
  }
  return true;
}

// The loss of samples that were decoded from a stream.
recognition::Prior prior_of(const stz_stream_info& info) {
  const double lost = std::max(info.accumulated_bound, info.relaxed_bound);
  if (info.mode == STZ_POINTWISE_RELATIVE) return {0, info.bound_used ? lost : info.accumulated_bound};
  if (info.mode == STZ_ABSOLUTE) return {info.bound_used ? lost : info.accumulated_bound, 0};
  return {info.accumulated_bound > 0 ? info.accumulated_bound : STZ_UNKNOWN_BOUND, 0};
}

// The largest magnitude of the finite numbers among samples of a floating-point type.
double largest_magnitude(const stz_layout& layout, const void* samples) {
  const size_t width = component_size(layout.dtype), n = array_bytes(layout) / width;
  const FloatFormat format = float_format(layout.dtype);
  const int mantissa = format.mantissa_bits;
  const u64 sign = format.sign(), first_special = format.first_special(), hidden = u64{1} << mantissa;
  const u8* p = static_cast<const u8*>(samples);
  u64 largest = 0;  // bits without the sign are ordered like magnitudes
  for (size_t i = 0; i < n; ++i, p += width) {
    u64 bits = 0;
    for (size_t k = 0; k < width; ++k) bits |= u64{p[layout.byte_order == STZ_LITTLE ? k : width - 1 - k]} << (8 * k);
    bits &= sign - 1;
    if (bits < first_special) largest = std::max(largest, bits);
  }
  const int exponent = static_cast<int>(largest >> mantissa);
  const u64 digits = largest & (hidden - 1);
  return std::ldexp(static_cast<double>(exponent ? digits | hidden : digits), std::max(exponent, 1) - format.bias() - mantissa);
}

// The prior bound in the unit of the data. |x - x'| <= r |x| implies |x - x'| <= r / (1 - r) |x'|.
double absolute_prior(const stz_layout& layout, const void* samples, const recognition::Prior& prior) {
  constexpr double rounding_up = 1 + 1e-14;
  if (prior.relative == 0) return prior.absolute;
  if (!is_floating(layout.dtype) || prior.relative >= 1) return STZ_UNKNOWN_BOUND;
  const double relative = prior.relative / (1 - prior.relative) * largest_magnitude(layout, samples) * rounding_up;
  return std::min(std::max(prior.absolute, relative), STZ_UNKNOWN_BOUND);
}

// The value for stz_options.prior_bound.
double prior_bound(const stz_layout& layout, const void* samples, const stz_options& options, const recognition::Prior& prior) {
  if (options.mode != STZ_POINTWISE_RELATIVE) return absolute_prior(layout, samples, prior);
  return prior.absolute > 0 ? STZ_UNKNOWN_BOUND : prior.relative;
}

// Sets the options for samples that may have used their bound.
void make_exact(stz_options& options) {
  options.mode = STZ_LOSSLESS;
  options.bound = 0;
  options.bound_used = 1;
}

// Compresses samples as the memory has recognised them. Candidates for the previous version of the chunk are decoded and compared.
int compress(const stz_layout& layout, const void* samples, stz_options options, const recognition::Recognised& recognised, void* out,
             size_t capacity, size_t& size) {
  options.prior_bound = prior_bound(layout, samples, options, recognised.prior);
  if (!recognised.exact && recognised.streams.size() <= STZ_MAX_CANDIDATES) {
    const void* streams[STZ_MAX_CANDIDATES];
    size_t sizes[STZ_MAX_CANDIDATES], count = 0;
    for (const Buffer<u8>& stream : recognised.streams) {
      streams[count] = stream.data();
      sizes[count++] = stream.size();
    }
    const int error = stz_rewrite_any(&layout, samples, &options, streams, sizes, count, out, capacity, &size);
    if (error != STZ_ERROR_ARGUMENT && error != STZ_ERROR_MEMORY) return error;
    if (count == 0 && error == STZ_ERROR_ARGUMENT) return error;  // otherwise a stream has other integers or another rank
  }
  make_exact(options);
  recognition::Prior prior = recognised.own;
  prior.include(recognised.prior);
  options.prior_bound = prior.any() ? absolute_prior(layout, samples, prior) : STZ_UNKNOWN_BOUND;
  const int error = stz_compress(&layout, samples, &options, out, capacity, &size);
  return error == STZ_ERROR_MEMORY ? stz_store(&layout, samples, &options, out, capacity, &size) : error;
}

}  // namespace

size_t encode_samples(const ChunkClient& client, const ChunkLearning& learning, const void* samples, size_t bytes, int threads,
                      Allocate allocate, Message& message) {
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  if (stz_cd_values_parse(client.count, client.values, &options, &layout, message.text, sizeof message.text) != STZ_OK) return 0;
  if (layout.rank < 0) {
    message.set(
        "cd_values do not contain the chunk's type and shape, and the calling HDF5 library has no function to ask: give the full "
        "form (103), which h5stz args --chunks --dtype prints");
    return 0;
  }
  const u64 expected = array_bytes(layout);
  if (bytes != expected) {
    message.set("the chunk has %zu bytes, but type and shape in cd_values make %llu: give those of the dataset", bytes,
                static_cast<unsigned long long>(expected));
    return 0;
  }
  const recognition::Recognised recognised = recognition::recognise({layout, recognition::settings_of(options), samples, client.dataset});
  const size_t capacity = stz_max_compressed_size(&layout);
  void* const out = allocate(capacity);
  if (!out) return out_of_memory(capacity, message);
  stz_find_missing_value(&layout, samples, &options);
  if (threads) options.threads = threads;
  if (stz_environment_check()) options.check = STZ_CHECK_DECODE;
  const std::shared_ptr<stz_learned> learned =
      learning.of_process && options.learn != STZ_LEARN_NO ? learned_of(layout, client.count, client.values) : nullptr;
  options.learned = learning.of_process ? learned.get() : learning.learned;
  size_t size = 0;
  const int error = compress(layout, samples, options, recognised, out, capacity, size);
  if (!error) return size;
  message.set("compressing a chunk failed: %s (error %d)", stz_error_text(error), error);
  return 0;
}

size_t decode_stream(const ChunkClient& client, const ChunkDecoding& how, const void* stream, size_t bytes, Allocate allocate,
                     Message& message) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  int error = stz_info(stream, bytes, &info);
  if (error) {
    char missing[256] = "";
    if (error == STZ_ERROR_VERSION) stz_missing_feature(stream, bytes, missing, sizeof missing);
    message.set("a chunk of %zu bytes cannot be read: %s (error %d)%s%s", bytes, stz_error_text(error), error,
                missing[0] ? "; it needs " : "", missing);
    return 0;
  }
  const ClientData data(client.count, client.values);
  if (!check_stream(info, data, message)) return 0;
  const auto size = static_cast<size_t>(info.array_bytes);
  void* const out = allocate(size);
  if (!out) return out_of_memory(size, message);
  error = how.verify ? stz_decompress_verified(stream, bytes, out, size, how.threads, nullptr)
                     : stz_decompress_threads(stream, bytes, out, size, how.threads);
  if (error) {
    message.set("a chunk of %zu bytes cannot be decoded: %s (error %d)%s", bytes, stz_error_text(error), error,
                error == STZ_ERROR_CONTENT  ? ""
                : error == STZ_ERROR_MEMORY ? "; smaller chunks need less"
                                            : "; restore the file from a copy");
    return 0;
  }
  if (how.remember && (info.bound_used || info.accumulated_bound > 0)) {
    const stz_layout& layout = data.has_layout ? data.layout : info.layout;
    const u64 settings = recognition::settings_of(data.options);
    recognition::remember({layout, info.bound_used ? settings : recognition::history_only(settings), out, client.dataset}, prior_of(info),
                          stream, bytes);
  }
  return size;
}

namespace {

// Runs one of the two functions above for HDF5, whose buffer is replaced if it succeeds. `fills`: whether it fills what it allocates.
template <class Run>
size_t replace_buffer(const Library& library, bool fills, size_t* buffer_size, void** buffer, Run run) {
  std::optional<ChunkBuffer> out;
  size_t capacity = 0;
  const auto allocate = [&](size_t bytes) {
    capacity = bytes;
    out.emplace(library, bytes);
    if (fills && out->data()) out->expect_all(bytes);
    return out->data();
  };
  const size_t size = run(allocate);
  if (size == 0) return 0;
  ChunkBuffer::release(library, *buffer);
  *buffer = out->take();
  *buffer_size = capacity;
  return size;
}

}  // namespace

size_t encode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message) {
  const int threads = stz_environment_threads();  // the user of the program decides, not the file
  return replace_buffer(library, false, buffer_size, buffer, [&](Allocate allocate) {
    return encode_samples({cd_count, cd_values, cd_values}, {}, *buffer, bytes, threads, allocate, message);
  });
}

size_t decode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message) {
  return replace_buffer(library, true, buffer_size, buffer, [&](Allocate allocate) {
    return decode_stream({cd_count, cd_values, cd_values}, {stz_environment_threads()}, *buffer, bytes, allocate, message);
  });
}

}  // namespace stz::hdf5
