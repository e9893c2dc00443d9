// Checks the options. Constant, tiny and incompressible arrays get their own forms.
#include "encoder/encode.h"

#include <algorithm>
#include <optional>

#include "base/faults.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "coding/checksum.h"
#include "encoder/encode_repeats.h"
#include "encoder/fields/encode_fields.h"
#include "encoder/learning.h"
#include "encoder/plan/effort.h"
#include "encoder/represent/choose_axis_map.h"
#include "encoder/represent/find_slice_grids.h"
#include "encoder/represent/floating_array.h"
#include "encoder/represent/predictability.h"
#include "encoder/smallest_stream.h"
#include "options/option_rules.h"
#include "stz_learned.h"

namespace stz {
namespace {

constexpr double largest_factor = 1.5;  // of the bound by an enhancement (stz.h)
constexpr int thorough_effort = 7;
constexpr int most_learned_effort = 6;  // higher ones fit every array

bool all_equal(const Array& a) {
  const size_t element = a.width * size_t(a.parts);
  return memcmp(a.data, a.data + element, (a.elements - 1) * element) == 0;
}

void make_lossless(Header& h) {
  h.mode = STZ_LOSSLESS;
  h.bound = h.half_step = 0;
}

// Single elements are weaker evidence than planes. The last element counts as unwritten if it is 0, the fill value or equal to the one
// before.
bool ends_unwritten(const Array& a, const Header& h) {
  const u64 bits = a.bits(a.elements - 1, 0);
  const size_t element = a.width * size_t(a.parts);
  const u8* const last = a.data + (a.elements - 1) * element;
  return (a.parts == 1 && (bits == 0 || (h.has_fill && bits == h.fill))) || memcmp(last - element, last, element) == 0;
}

// Whether the last plane across the growing axis is still unwritten: all its elements have the same bits. append_axis: 1 + the axis, or 0.
// The array must then stay lossless, because it is compressed again when it has grown.
bool still_grows(const Array& a, const Header& h, i32 append_axis) {
  if (append_axis == 0) return false;
  const u64 planes = a.layout.shape[append_axis - 1];
  if (planes == a.elements) return ends_unwritten(a, h);
  const size_t element = a.width * size_t(a.parts);
  u64 run = element;  // contiguous bytes of the plane
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

// Writes a form that stores the first `size` bytes of the array.
void put_whole(const Header& h, const Array& a, size_t size, Stream& out) {
  out.bytes = write_header(h);
  out.bytes.insert(out.bytes.end(), a.data, a.data + size);
  STZ_FAULT_POINT(header, out.bytes.data(), out.bytes.size());
  put_le<u32>(out.bytes, crc32c(out.bytes.data(), out.bytes.size()));
}
void put_whole(const Header& h, const Array&, size_t size, SizeEstimate& out) {
  out.bytes = double(write_header(h).size() + size + sizeof(u32));
  out.squared_error = 0;
}

template <class Out>
Out whole_stream(Header h, Form form, const Array& a) {
  const size_t size = a.width * size_t(a.parts) * (form == Form::constant ? 1 : a.elements);
  h.form = form;
  Out out;
  put_whole(h, a, size, out);
  if (form == Form::constant || h.accumulated_bound == 0 || out.size() <= double(size + 64)) return out;
  h.accumulated_bound = 0;  // headers of the longest shapes have no room for it
  put_whole(h, a, size, out);
  return out;
}

StreamRequest request_of(const stz_layout& layout, const stz_options& options, const std::vector<int>& unknown_bits) {
  StreamRequest request;
  request.effort = options.effort;
  request.layers = options.layers;
  request.unknown_bits = unknown_bits;
  request.dead_zone = (options.enhance & STZ_ENHANCE_STRICT) && is_floating(layout.dtype) && !is_short_float(layout.dtype);
  // Enhancement is for a low mean error.
  request.favour = options.favour == STZ_FAVOUR_DEFAULT && options.enhance ? STZ_FAVOUR_QUALITY : options.favour;
  request.content_check = options.content_check;
  request.keep_zeros = options.keep_zeros != 0;
  request.keep_range = options.keep_range != 0;
  if (has_valid_range(options)) {
    request.valid_low = options.valid_range[0];
    request.valid_high = options.valid_range[1];
  }
  request.threads = thread_count(options.threads);
  return request;
}

// The header before any element is read. Fails if the options do not suit the layout.
Header header_of(const stz_layout& layout, const stz_options& options) {
  require(layout.byte_order == STZ_LITTLE || layout.byte_order == STZ_BIG, STZ_ERROR_ARGUMENT);
  array_bytes(layout);  // checks dtype and shape
  require_valid_options(options, layout);
  Header h;
  h.layout = layout;
  h.mode = options.mode;
  h.bound = h.half_step = options.bound;
  if (must_be_exact(layout, options)) make_lossless(h);
  h.bound_used = options.bound_used != 0;
  h.block = stz_block(options.block);
  const size_t width = component_size(layout.dtype);
  h.has_fill = options.has_fill != 0;
  h.fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  return h;
}

// Encodes empty, constant and tiny arrays. For other arrays, sets the valid extent and axis map in the header.
template <class Out>
std::optional<Out> simple_stream(const Array& a, const stz_options& options, Header& h) {
  if (a.elements == 0) {
    Out out = whole_stream<Out>(h, Form::raw, a);
    if (out.size() <= 64) return out;
    make_lossless(h);  // headers of the longest shapes have no room for a bound and a fill value
    h.has_fill = false;
    return whole_stream<Out>(h, Form::raw, a);
  }
  const bool constant = a.elements > 1 && all_equal(a);
  // Nothing was written yet, or nothing that has used its bound.
  if (constant && options.append_axis) make_lossless(h);
  if (constant || array_bytes(a.layout) <= 64) {
    add_prior_bound(h, options);
    return whole_stream<Out>(h, constant ? Form::constant : Form::raw, a);
  }
  if (h.mode != STZ_LOSSLESS && still_grows(a, h, options.append_axis)) make_lossless(h);
  find_valid_extent(a, h);
  add_prior_bound(h, options);
  h.axis_map = choose_axis_map(a, h);
  return {};
}

// The smallest stream with the predictions of earlier arrays, or with those that are fitted to this one. `fitted`: true at the call; false
// afterwards if nothing was fitted.
Stream learned_stream(const Array& a, const Header& h, StreamRequest request, stz_learned& memory, bool& fitted) {
  const stz_learned::Turn turn = memory.next();
  request.learned = &turn.sets;
  Stream best = smallest_stream<Stream>(a, h, request);
  if (!best.is_learned) {  // no set suited the array
    memory.add(best.learned);
    return best;
  }
  fitted = turn.is_fitted || memory.is_unlike(best.size());
  if (!fitted) return best;
  request.learned = nullptr;
  Stream own = smallest_stream<Stream>(a, h, request);
  memory.judge(best.size(), own.size());
  memory.add(own.learned);
  keep_smaller(best, std::move(own));
  return best;
}

// The stream of blocks, or raw elements if they are smaller.
template <class Out>
Out blocks_or_raw(Out blocks, const Array& a, const Header& h) {
  if (!blocks.empty() && blocks.size() <= double(array_bytes(a.layout) + 32)) return blocks;
  return whole_stream<Out>(h, Form::raw, a);
}

// What a sample says about floating-point numbers that lose nothing.
struct FieldChoice {
  FieldPlan plan;
  bool tried = false;  // floating-point fields may be the smallest form
  bool sure = false;   // no other form needs a trial
};

FieldChoice choose_fields(const Array& a, const Header& h, const StreamRequest& request) {
  constexpr u64 least_numbers = 256, many_numbers = 1 << 14;
  constexpr double near = 1.5;  // bits: the expected ones are rough
  FieldChoice choice;
  if (h.mode != STZ_LOSSLESS || !is_floating(a.layout.dtype) || a.elements < least_numbers) return choice;
  choice.plan = plan_fields(a, request.effort >= thorough_effort);
  const Predictability p = predictability_of(a);
  const double coded = std::min(p.bits_in_ulps(), p.bits_with_remainders()) - p.zero_bits;
  const double predicted = std::min(coded, double(8 * a.width));
  const double far = std::min(3.0, 0.1 * double(8 * a.width));
  const bool hopeless = p.hopeless && a.elements >= many_numbers;
  const bool clearly = choice.plan.bits < predicted + (hopeless ? near : -far);
  choice.tried = choice.plan.bits < predicted + near || p.hopeless;
  choice.sure = choice.plan.continuous && clearly && request.layers <= 1 && request.effort < thorough_effort && !promises_slice_grids(a, h);
  return choice;
}

// Whether readers before 1.1 refuse a stream.
bool is_new(const Stream& stream) {
  const Header h = read_header(stream.bytes.data(), stream.bytes.size());
  return h.remainders.present || h.decimals.any() || h.slices.any();
}
bool is_new(const SizeEstimate&) { return false; }

// The smallest of all forms. `blocks`: makes a stream of blocks.
template <class Out, class F>
Out smallest_form(const Array& a, const Header& h, const StreamRequest& request, F blocks) {
  const FieldChoice choice = choose_fields(a, h, request);
  constexpr double similar = 1.005;  // fields are read in a fifth of the time
  Out best;
  if (!choice.sure) best = blocks();
  if (choice.tried) {
    const double raw = double(array_bytes(a.layout));
    Out fields = encode_fields<Out>(a, h, choice.plan, request.threads);
    const double others = best.empty() ? raw : std::min(raw, best.size());
    const double most = !best.empty() && is_new(best) ? similar * others : worthwhile_share * others;
    if (fields.size() < most) return fields;
    if (choice.sure) best = blocks();
  }
  return blocks_or_raw(std::move(best), a, h);
}

}  // namespace

double accumulated(const stz_options& o, i32 mode) {
  if (o.mode != STZ_POINTWISE_RELATIVE) return std::min(o.prior_bound + (mode == STZ_LOSSLESS ? 0 : o.bound), STZ_UNKNOWN_BOUND);
  if (mode != STZ_POINTWISE_RELATIVE) return STZ_UNKNOWN_BOUND;  // stored losslessly after all: the unit is that of the data
  // |x - x''| <= |x - x'| + |x' - x''|, and |x'| <= (1 + prior) |x|.
  constexpr double rounding_up = 1 + 1e-14;
  return std::min((o.prior_bound + o.bound + o.prior_bound * o.bound) * rounding_up, STZ_UNKNOWN_BOUND);
}

bool must_be_exact(const stz_layout& layout, const stz_options& o) {
  return o.mode == STZ_LOSSLESS || o.bound == 0 || (is_integer(layout.dtype) && o.integers != STZ_INTEGERS_BOUNDED);
}

Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<int>& unknown_bits) {
  Header h = header_of(layout, options);
  const Array a{layout, data};
  if (auto simple = simple_stream<Stream>(a, options, h)) return std::move(simple->bytes);
  start_threads();
  const StreamRequest request = request_of(layout, options, unknown_bits);
  const bool learns = options.learned && options.learn != STZ_LEARN_NO && request.effort <= most_learned_effort && request.layers <= 1 &&
                      unknown_bits.empty();
  return smallest_form<Stream>(a, h, request,
                               [&] {
                                 bool fitted = true;
                                 Stream best = learns ? learned_stream(a, h, request, *options.learned, fitted)
                                                      : smallest_stream<Stream>(a, h, request);
                                 if (!fitted || request.effort <= default_effort) return best;
                                 // More samples in fits and more candidates can give a worse result: up to 18 % worse if most samples are
                                 // alike.
                                 StreamRequest usual = request;
                                 usual.effort = default_effort;
                                 keep_smaller(best, smallest_stream<Stream>(a, h, usual));
                                 return best;
                               })
      .bytes;
}

Bytes encode_whole(const stz_layout& layout, const u8* data, const stz_options& options) {
  Bytes usual = encode(layout, data, options);
  const auto parts = [](const stz_layout& of_part, const u8* part, const stz_options& of) { return encode(of_part, part, of); };
  Bytes repeated = stream_with_repeats(layout, data, options, usual.size(), parts);
  return repeated.empty() ? usual : repeated;
}

ValueRange range_with_enhancement(const stz_layout& layout, const u8* data, const stz_options& options) {
  Header h = header_of(layout, options);
  const Array a{layout, data};
  if (simple_stream<SizeEstimate>(a, options, h)) return {};
  StreamRequest request = request_of(layout, options, {});
  request.error_factor = largest_factor;
  return a.width == sizeof(float) ? FloatingArray<float>(a, h, request).header().range
                                  : FloatingArray<double>(a, h, request).header().range;
}

void train(const stz_layout& layout, const u8* data, const stz_options& options, stz_learned& memory) {
  Header h = header_of(layout, options);
  const Array a{layout, data};
  if (simple_stream<Stream>(a, options, h)) return;
  StreamRequest request = request_of(layout, options, {});
  request.layers = 1;
  require(memory.add(smallest_stream<Stream>(a, h, request).learned, true), STZ_ERROR_MEMORY);
}

SizeEstimate estimate(const stz_layout& layout, const u8* data, const stz_options& options) {
  Header h = header_of(layout, options);
  const Array a{layout, data};
  if (const auto simple = simple_stream<SizeEstimate>(a, options, h)) return *simple;
  StreamRequest request = request_of(layout, options, {});
  request.layers = 1;
  return smallest_form<SizeEstimate>(a, h, request, [&] { return smallest_stream<SizeEstimate>(a, h, request); });
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
  if (header.size() + sizeof(u32) > 64) {  // headers of the longest shapes have no room for it
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

}  // namespace stz
