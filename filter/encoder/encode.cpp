// Checks what is asked for; arrays that are constant, tiny or incompressible get their own forms.
#include "encoder/encode.h"

#include "base/threads.h"
#include "encoder/encode_numbers.h"
#include "format/checksum.h"

namespace stz {
namespace {

void check_options(const stz_layout& layout, const stz_options& o) {
  require(o.mode >= STZ_LOSSLESS && o.mode <= STZ_POINTWISE_RELATIVE, STZ_ERROR_MODE);
  require(o.mode == STZ_LOSSLESS || (o.bound >= 0 && o.bound < __builtin_inf()), STZ_ERROR_BOUND);
  require(o.mode != STZ_POINTWISE_RELATIVE || is_floating(layout.dtype), STZ_ERROR_MODE);
  require(o.block >= STZ_BLOCK_DEFAULT && o.block <= STZ_BLOCK_REGION && o.effort >= 0 && o.effort <= 9 && o.layers >= 0 && o.layers <= 1,
          STZ_ERROR_OPTION);
}

bool all_equal(const Array& a) {
  const size_t element = a.width * size_t(a.parts);
  return memcmp(a.data, a.data + element, (a.elements - 1) * element) == 0;
}

Bytes encode_raw(Header h, const Array& a) {
  h.form = Form::raw;
  Bytes out = write_header(h);
  out.insert(out.end(), a.data, a.data + a.elements * a.width * size_t(a.parts));
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

Bytes encode_constant(Header h, const Array& a) {
  h.form = Form::constant;
  Bytes out = write_header(h);
  out.insert(out.end(), a.data, a.data + a.width * size_t(a.parts));
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

}  // namespace

Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options) {
  require(layout.byte_order == STZ_LITTLE || layout.byte_order == STZ_BIG, STZ_ERROR_ARGUMENT);
  array_bytes(layout);  // checks dtype and shape
  check_options(layout, options);
  const int threads = thread_count(options.threads);
  Header h;
  h.layout = layout;
  h.mode = options.mode;
  h.bound = options.mode == STZ_LOSSLESS ? 0 : options.bound;
  if (h.bound == 0) h.mode = STZ_LOSSLESS;
  h.half_step = h.bound;
  h.region = options.block == STZ_BLOCK_REGION;
  const size_t width = component_size(layout.dtype);
  h.has_fill = options.has_fill != 0;
  h.fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  Array a{layout, data};
  if (a.elements == 0) {
    Bytes out = encode_raw(h, a);
    if (out.size() <= 64) return out;
    h.mode = STZ_LOSSLESS;  // the longest shapes leave no room for a bound and a fill value
    h.bound = 0;
    h.has_fill = false;
    return encode_raw(h, a);
  }
  if (a.elements > 1 && all_equal(a)) return encode_constant(h, a);
  const size_t raw_size = a.elements * a.width * size_t(a.parts);
  if (raw_size <= 64) return encode_raw(h, a);
  find_valid_extent(a, h);
  Bytes out = encode_numbers(a, h, threads);
  if (out.empty() || out.size() > raw_size + 32) return encode_raw(h, a);
  return out;
}

}  // namespace stz
