// The C API of stz.h: checks pointers, sets the floating-point environment, turns failures into codes.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "decode.h"
#include "encode.h"
#include "floating_environment.h"
#include "frame.h"
#include "stages.h"
#include "stz.h"
#include "threads.h"

namespace stz {
namespace {

template <class F>
int guarded(F f) noexcept {
  FloatingEnvironment environment;
  try {
    f();
    return STZ_OK;
  } catch (const Failure& failure) {
    return failure.code;
  } catch (const std::bad_alloc&) {
    return STZ_ERROR_MEMORY;
  } catch (const std::length_error&) {
    return STZ_ERROR_MEMORY;
  } catch (...) {
    return STZ_ERROR_INTERNAL;
  }
}

const char* form_name(const Header& h) {
  if (h.form == Form::raw) return "raw";
  if (h.form == Form::constant) return "constant";
  switch (h.quantizer) {
    case QuantizerKind::uniform:
      return "blocks of numbers";
    case QuantizerKind::ordered:
      return "blocks of ordered numbers";
    default:
      return h.transform == Transform::lattice ? "blocks of lattice numbers" : "blocks of integers";
  }
}

}  // namespace
}  // namespace stz

using namespace stz;

extern "C" {

void stz_default_options(stz_options* options) {
  if (options) *options = stz_options{STZ_LOSSLESS, 0, 0, 0, STZ_BLOCK_DEFAULT, 1, 0, 1};
}

size_t stz_element_size(int32_t dtype) {
  static constexpr u8 size[] = {0, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 8, 16};
  return dtype >= STZ_F16 && dtype <= STZ_C128 ? size[dtype] : 0;
}

size_t stz_max_compressed_size(const stz_layout* layout) {
  if (!layout) return 0;
  try {
    return array_bytes(*layout) + 64;
  } catch (...) {
    return 0;
  }
}

int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size) {
  if (!layout || !options || !out || !out_size) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    require(capacity >= array_bytes(*layout) + 64, STZ_ERROR_CAPACITY);
    require(data || element_count(*layout) == 0, STZ_ERROR_ARGUMENT);
    Bytes stream = encode(*layout, static_cast<const u8*>(data), *options);
    require(stream.size() <= capacity, STZ_ERROR_INTERNAL);
    memcpy(out, stream.data(), stream.size());
    *out_size = stream.size();
  });
}

int stz_decompress(const void* stream, size_t size, void* out, size_t out_size) {
  return stz_decompress_threads(stream, size, out, out_size, 1);
}

int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads) {
  if (!stream || (!out && out_size)) return STZ_ERROR_ARGUMENT;
  return guarded([&] { decode(static_cast<const u8*>(stream), size, static_cast<u8*>(out), out_size, thread_count(threads)); });
}

int stz_info(const void* stream, size_t size, stz_stream_info* info) {
  if (!stream || !info) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    Header h = read_header(static_cast<const u8*>(stream), size);
    *info = stz_stream_info{};
    info->layout = h.layout;
    info->mode = h.mode;
    info->bound = h.bound;
    info->has_fill = h.has_fill;
    info->fill = h.fill;
    info->block = h.region ? STZ_BLOCK_REGION : STZ_BLOCK_DEFAULT;
    info->format_version = STZ_FORMAT_VERSION;
    info->array_bytes = array_bytes(h.layout);
    info->form = form_name(h);
    info->levels = 1;
    if (h.form == Form::raw)
      info->level_offset[0] = h.size + info->array_bytes + 4;
    else if (h.form == Form::constant)
      info->level_offset[0] = h.size + stz_element_size(h.layout.dtype) + 4;
    else {
      u64 end = h.size;
      info->levels = i32(h.section.size());
      for (size_t k = 0; k < h.section.size(); k++) {
        require(!__builtin_add_overflow(end, h.section[k], &end), STZ_ERROR_CORRUPT);
        info->level_offset[h.section.size() - 1 - k] = end;
      }
    }
  });
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
// The names of the stages, and the seconds that the calling thread has spent in each since the last call.
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
