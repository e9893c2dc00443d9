// The C API of stz.h: checks pointers and structure sizes, sets the floating-point environment, converts failures to error codes.
#include "api/stream_info.h"
#include "base/buffer.h"
#include "base/faults.h"
#include "base/guard.h"
#include "base/parallel.h"
#include "base/stages.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "format/frame.h"
#include "precision/check_stream.h"
#include "precision/drop_layers.h"
#include "precision/encode_layered.h"
#include "precision/size_estimate.h"
#include "rewrite/rewrite.h"
#include "stz.h"

using namespace stz;

namespace {

// Checks the arguments that all writing functions share. Passes the array and the options (converted to this version) to `write`, and
// returns the length that it reports.
template <class Write>
int write_with(const stz_layout* layout, const void* data, const stz_options* options, const void* out, size_t capacity, size_t* out_size,
               Write write) {
  if (out_size) *out_size = 0;
  if (!layout || layout->reserved != 0 || !options || !out || !out_size) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    stz_options given;
    const int code = take_input(options, given);
    require(code == STZ_OK, code);
    require(capacity >= array_bytes(*layout) + 64, STZ_ERROR_CAPACITY);
    require(data || element_count(*layout) == 0, STZ_ERROR_ARGUMENT);
    given.threads = useful_threads(thread_count(given.threads), sample_count(*layout));
    const Team team(given.threads);
    *out_size = write(static_cast<const u8*>(data), given);
  });
}

// Copies the stream that `write` makes to the caller's buffer, and checks it if the options ask for that.
template <class Write>
int compress_with(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size,
                  const std::vector<PreviousStream>& previous, Write write) {
  return write_with(layout, data, options, out, capacity, out_size, [&](const u8* array, const stz_options& given) {
    const auto write_out = [&] {
      const Bytes stream = write(*layout, array, given);
      require(stream.size() <= capacity, STZ_ERROR_INTERNAL);
      STZ_FAULT_POINT(stream, stream.data(), stream.size());
      memcpy(out, stream.data(), stream.size());
      STZ_FAULT_POINT(output, out, stream.size());
      return stream.size();
    };
    if (given.check == STZ_CHECK_NONE) return write_out();
    return write_and_check(*layout, array, given, previous, static_cast<const u8*>(out), write_out);
  });
}

}  // namespace

extern "C" {

int stz_version_number(void) { return STZ_VERSION_NUMBER; }

const char* stz_version_string(void) { return STZ_VERSION_STRING; }

size_t stz_element_size(int32_t dtype) { return element_size(dtype); }

size_t stz_max_compressed_size(const stz_layout* layout) {
  if (!layout || layout->reserved != 0) return 0;
  try {
    return array_bytes(*layout) + 64;
  } catch (...) {
    return 0;
  }
}

int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size) {
  return compress_with(layout, data, options, out, capacity, out_size, {}, encode_layered);
}

int stz_estimate(const stz_layout* layout, const void* data, const stz_options* options, stz_size_estimate* result) {
  if (!layout || layout->reserved != 0 || !options || !result || !valid_struct_size(result)) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    stz_options given;
    const int code = take_input(options, given);
    require(code == STZ_OK, code);
    require(data || element_count(*layout) == 0, STZ_ERROR_ARGUMENT);
    given.threads = useful_threads(thread_count(given.threads), sample_count(*layout));
    const Team team(given.threads);
    give_output(size_estimate(*layout, static_cast<const u8*>(data), given), result);
  });
}

int stz_rewrite(const stz_layout* layout, const void* data, const stz_options* options, const void* previous, size_t previous_size,
                void* out, size_t capacity, size_t* out_size) {
  if (!previous) {
    if (out_size) *out_size = 0;
    return STZ_ERROR_ARGUMENT;
  }
  return stz_rewrite_any(layout, data, options, &previous, &previous_size, 1, out, capacity, out_size);
}

int stz_rewrite_any(const stz_layout* layout, const void* data, const stz_options* options, const void* const* previous,
                    const size_t* previous_sizes, size_t count, void* out, size_t capacity, size_t* out_size) {
  if (out_size) *out_size = 0;
  if (count > STZ_MAX_CANDIDATES || (count > 0 && (!previous || !previous_sizes))) return STZ_ERROR_ARGUMENT;
  std::vector<PreviousStream> streams;
  const int code = guarded([&] {
    for (size_t i = 0; i < count; i++) {
      require(previous[i], STZ_ERROR_ARGUMENT);
      streams.push_back({static_cast<const u8*>(previous[i]), previous_sizes[i]});
    }
  });
  if (code != STZ_OK) return code;
  return compress_with(layout, data, options, out, capacity, out_size, streams,
                       [&](const stz_layout& of, const u8* array, const stz_options& given) { return rewrite(of, array, given, streams); });
}

int stz_store(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size) {
  return write_with(layout, data, options, out, capacity, out_size, [&](const u8* array, const stz_options& given) {
    require(given.mode == STZ_LOSSLESS, STZ_ERROR_MODE);
    return store(*layout, array, given, static_cast<u8*>(out));
  });
}

int stz_drop_layers(const void* stream, size_t size, double max_error, void* out, size_t capacity, size_t* out_size) {
  if (out_size) *out_size = 0;
  if (!stream || !out || !out_size) return STZ_ERROR_ARGUMENT;
  if (!(max_error >= 0)) return STZ_ERROR_BOUND;
  return guarded([&] {
    const Bytes shorter = drop_layers(static_cast<const u8*>(stream), size, max_error);
    require(shorter.size() <= capacity, STZ_ERROR_CAPACITY);
    std::copy(shorter.begin(), shorter.end(), static_cast<u8*>(out));
    *out_size = shorter.size();
  });
}

int stz_decompress(const void* stream, size_t size, void* out, size_t out_size) {
  return stz_decompress_threads(stream, size, out, out_size, 1);
}

int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads) {
  if (!stream || (!out && out_size)) return STZ_ERROR_ARGUMENT;
  return guarded([&] { decode(static_cast<const u8*>(stream), size, static_cast<u8*>(out), out_size, thread_count(threads)); });
}

int stz_decompress_verified(const void* stream, size_t size, void* out, size_t out_size, int threads, uint64_t* blocks) {
  if (blocks) *blocks = 0;
  if (!stream || (!out && out_size)) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    Verification verification;
    decode(static_cast<const u8*>(stream), size, static_cast<u8*>(out), out_size, thread_count(threads), &verification);
    if (blocks) *blocks = verification.blocks;
  });
}

int stz_verify(const void* stream, size_t size, int threads, uint64_t* blocks) {
  if (blocks) *blocks = 0;
  if (!stream) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    const Header header = read_header(static_cast<const u8*>(stream), size);
    Verification verification;
    if ((header.form == Form::raw && !header.fields.any()) || header.form == Form::constant) {
      checked_payload(header, static_cast<const u8*>(stream), size);
      return;
    }
    Buffer<u8> array(size_t(array_bytes(header.layout)));
    decode(static_cast<const u8*>(stream), size, array.data(), array.size(), thread_count(threads), &verification);
    if (blocks) *blocks = verification.blocks;
  });
}

int stz_info(const void* stream, size_t size, stz_stream_info* info) {
  if (!stream || !info || !valid_struct_size(info)) return STZ_ERROR_ARGUMENT;
  return guarded([&] { give_output(stream_info(static_cast<const u8*>(stream), size), info); });
}

const char* stz_error_text(int code) {
  switch (code) {
#define STZ_ERROR_TEXT(name, number, text) \
  case number:                             \
    return text;
    STZ_ERRORS(STZ_ERROR_TEXT)
#undef STZ_ERROR_TEXT
    default:
      return "unknown error code";
  }
}

#if defined(STZ_STAGES)
// For benchmarks: the names of the stages, and the seconds that the calling thread has spent in each since the last call.
__attribute__((visibility("default"))) const char* stz_stage_names() { return stage_names; }
__attribute__((visibility("default"))) void stz_take_stage_seconds(double* seconds) {
  stage_clock.change(Stage::other);
  for (double& each : stage_clock.seconds) {
    *seconds++ = each;
    each = 0;
  }
}
#endif

}  // extern "C"
