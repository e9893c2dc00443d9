// Checks what is asked for; arrays that are constant, tiny or incompressible get their own forms.
#include "encoder/encode.h"

#include <algorithm>

#include "base/faults.h"
#include "base/threads.h"
#include "encoder/choose_axis_map.h"
#include "encoder/encode_numbers.h"
#include "format/checksum.h"
#include "options/option_rules.h"

namespace stz {
namespace {

bool all_equal(const Array& a) {
  const size_t element = a.width * size_t(a.parts);
  return memcmp(a.data, a.data + element, (a.elements - 1) * element) == 0;
}

void make_lossless(Header& h) {
  h.mode = STZ_LOSSLESS;
  h.bound = h.half_step = 0;
}

// One element says less than a plane of them: it counts as not written if it is 0, the fill value or the same as the one before it.
bool ends_unwritten(const Array& a, const Header& h) {
  const u64 bits = a.bits(a.elements - 1, 0);
  const size_t element = a.width * size_t(a.parts);
  const u8* const last = a.data + (a.elements - 1) * element;
  return (a.parts == 1 && (bits == 0 || (h.has_fill && bits == h.fill))) || memcmp(last - element, last, element) == 0;
}

// Has nothing been written yet to the last plane across the axis in which the array grows (1 + the axis, or 0)? All its elements then have
// the same bits. The samples before it must keep theirs: they are compressed once more when the array has grown.
bool still_grows(const Array& a, const Header& h, i32 append_axis) {
  if (append_axis == 0) return false;
  const u64 planes = a.layout.shape[append_axis - 1];
  if (planes == a.elements) return ends_unwritten(a, h);
  const size_t element = a.width * size_t(a.parts);
  u64 run = element;  // bytes of the plane that lie together
  for (int k = append_axis; k < a.layout.rank; k++) run *= a.layout.shape[k];
  const u64 bytes = a.elements * element;
  const u8* const last = a.data + bytes - element;
  for (u64 end = bytes; end != 0; end -= run * planes)
    for (u64 at = end; at != end - run; at -= element)
      if (memcmp(a.data + at - element, last, element) != 0) return false;
  return true;
}

void add_prior_bound(Header& h, const stz_options& o) {
  if (o.prior_bound > 0) h.accumulated_bound = accumulated(o, h.mode);
}

// A form that holds the first `size` bytes of the array as they are.
Encoded encode_bytes(Header h, Form form, const Array& a, size_t size) {
  h.form = form;
  Bytes out = write_header(h);
  if (h.estimate) {
    Encoded known;
    known.expected = double(out.size() + size + sizeof(u32));
    known.squared_error = 0;
    return known;
  }
  out.insert(out.end(), a.data, a.data + size);
  STZ_FAULT_POINT(header, out.data(), out.size());
  put_le<u32>(out, crc32c(out.data(), out.size()));
  Encoded written;
  written.bytes = std::move(out);
  return written;
}

Encoded encode_raw(const Header& h, const Array& a) { return encode_bytes(h, Form::raw, a, a.elements * a.width * size_t(a.parts)); }
Encoded encode_raw_with_history(Header& h, const Array& a) {
  Encoded out = encode_raw(h, a);
  if (out.size() <= double(a.elements * a.width * size_t(a.parts) + 64)) return out;
  h.accumulated_bound = 0;  // the longest shapes leave no room for it
  return encode_raw(h, a);
}
Encoded encode_constant(const Header& h, const Array& a) { return encode_bytes(h, Form::constant, a, a.width * size_t(a.parts)); }

Encoded encode_or_estimate(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<int>& unknown_bits,
                           bool estimate) {
  require(layout.byte_order == STZ_LITTLE || layout.byte_order == STZ_BIG, STZ_ERROR_ARGUMENT);
  array_bytes(layout);  // checks dtype and shape
  require_valid_options(options, layout);
  const int threads = thread_count(options.threads);
  Header h;
  h.layout = layout;
  h.mode = options.mode;
  h.bound = h.half_step = options.bound;
  if (must_be_exact(layout, options)) make_lossless(h);
  h.bound_used = options.bound_used != 0;
  h.block = stz_block(options.block);
  h.effort = options.effort;
  h.wanted_layers = estimate ? 1 : options.layers;
  if (!estimate) h.wanted_unknown_bits = unknown_bits;
  h.content_check = options.content_check;
  h.wide_zero = (options.enhance & STZ_ENHANCE_STRICT) && is_floating(layout.dtype) && layout.dtype != STZ_F16;
  h.estimate = estimate;
  const size_t width = component_size(layout.dtype);
  h.has_fill = options.has_fill != 0;
  h.fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  Array a{layout, data};
  if (a.elements == 0) {
    Encoded out = encode_raw(h, a);
    if (out.size() <= 64) return out;
    make_lossless(h);  // the longest shapes leave no room for a bound and a fill value
    h.has_fill = false;
    return encode_raw(h, a);
  }
  if (a.elements > 1 && all_equal(a)) {
    if (options.append_axis) make_lossless(h);  // nothing was written yet, or nothing that has used its bound
    add_prior_bound(h, options);
    return encode_constant(h, a);
  }
  const size_t raw_size = a.elements * a.width * size_t(a.parts);
  if (raw_size <= 64) {
    add_prior_bound(h, options);
    return encode_raw_with_history(h, a);
  }
  if (h.mode != STZ_LOSSLESS && still_grows(a, h, options.append_axis)) make_lossless(h);
  find_valid_extent(a, h);
  add_prior_bound(h, options);
  h.axis_map = choose_axis_map(a, h);
  Encoded out = encode_numbers(a, h, threads);
  if (!out.empty() && out.size() <= double(raw_size + 32)) return out;
  return encode_raw_with_history(h, a);
}

}  // namespace

double accumulated(const stz_options& o, i32 mode) {
  if (o.mode != STZ_POINTWISE_RELATIVE) return std::min(o.prior_bound + (mode == STZ_LOSSLESS ? 0 : o.bound), STZ_UNKNOWN_BOUND);
  if (mode != STZ_POINTWISE_RELATIVE) return STZ_UNKNOWN_BOUND;  // stored exactly after all: in the unit of the data
  // |x - x''| <= |x - x'| + |x' - x''|, and |x'| <= (1 + prior) |x|
  constexpr double rounding_up = 1 + 1e-14;
  return std::min((o.prior_bound + o.bound + o.prior_bound * o.bound) * rounding_up, STZ_UNKNOWN_BOUND);
}

bool must_be_exact(const stz_layout& layout, const stz_options& o) {
  return o.mode == STZ_LOSSLESS || o.bound == 0 || (is_integer(layout.dtype) && o.integers != STZ_INTEGERS_BOUNDED);
}

Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<int>& unknown_bits) {
  return encode_or_estimate(layout, data, options, unknown_bits, false).bytes;
}

size_t store(const stz_layout& layout, const u8* data, const stz_options& options, u8* out) {
  const size_t size = size_t(array_bytes(layout));
  require_valid_options(options, layout);
  Header h;
  h.layout = layout;
  h.form = Form::raw;
  h.bound_used = options.bound_used != 0;
  add_prior_bound(h, options);
  Bytes header = write_header(h);
  if (header.size() + sizeof(u32) > 64) {  // the longest shapes leave no room for it
    h.accumulated_bound = 0;
    header = write_header(h);
  }
  memcpy(out, header.data(), header.size());
  if (size > 0) memcpy(out + header.size(), data, size);
  const size_t end = header.size() + size;
  const u32 check = crc32c(out, end);
  for (size_t i = 0; i < sizeof check; i++) out[end + i] = u8(check >> 8 * i);
  return end + sizeof check;
}

Encoded estimate(const stz_layout& layout, const u8* data, const stz_options& options) {
  return encode_or_estimate(layout, data, options, {}, true);
}

}  // namespace stz
