#include "precision/check_stream.h"

#include <algorithm>
#include <cmath>

#include "base/buffer.h"
#include "base/faults.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/frame.h"
#include "precision/add_content_check.h"
#include "precision/encode_layered.h"
#include "precision/promise.h"

namespace stz {
namespace {

constexpr double largest_relaxation = 1.5;       // factor of an enhancement on the bound, as promised by stz.h
constexpr u64 elements_per_task = u64(1) << 16;  // that a thread compares at a time

class StreamChecker {
 public:
  StreamChecker(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                const u8* stream, size_t size)
      : layout_(layout),
        data_(data),
        options_(options),
        previous_(previous),
        stream_(stream),
        size_(size),
        bytes_(size_t(array_bytes(layout))),
        threads_(thread_count(options.threads)),
        header_(read_header(stream, size)) {
    for (const PreviousStream& each : previous) add_with_checks(each);
  }

  void run() {
    const bool as_before = ends_one_of_them(stream_, size_, true);
    require(same_layout(header_.layout, layout_), STZ_ERROR_CHECK);
    if (!as_before) check_header();
    const bool patched = header_.form == Form::patched;
    require(header_.base_offset <= size_ && header_.base_size <= size_ - header_.base_offset, STZ_ERROR_CHECK);
    Header base;  // the stream with layers and enhancement
    if (patched) base = read_header(stream_ + header_.base_offset, size_t(header_.base_size));
    const u8* const base_stream = stream_ + (patched ? header_.base_offset : 0);
    const size_t base_size = patched ? size_t(header_.base_size) : size_;
    const Header& of_base = patched ? base : header_;
    const bool old_base = as_before || (patched && is_old(base_stream, base_size));
    Buffer<u8> decoded(bytes_);
    Verification verification;  // compares blocks that have a content check
    decode(stream_, size_, decoded.data(), bytes_, threads_, &verification);
    STZ_FAULT_POINT(decoded_array, decoded.data(), bytes_);
    require(options_.content_check != STZ_CONTENT_CHECK_WRITE || has_content_check(stream_, size_), STZ_ERROR_CHECK);
    compare(decoded.data(), old_base ? options_.bound : allowed_error(of_base));
    if (!old_base) check_layers(of_base, base_stream, base_size, decoded);
  }

 private:
  // Adds content checks to a previous stream, if they are asked for and missing.
  void add_with_checks(const PreviousStream& previous) {
    if (options_.content_check != STZ_CONTENT_CHECK_WRITE || has_content_check(previous.data, previous.size)) return;
    with_checks_.push_back(with_content_check(previous.data, previous.size, threads_));
  }

  // Whether these bytes are the end of a previous stream; with `all`, the whole of it.
  bool ends_one_of_them(const u8* bytes, size_t size, bool all) const {
    const auto ends = [&](const u8* stream, size_t stream_size) {
      return (all ? stream_size == size : stream_size >= size) && memcmp(bytes, stream + (stream_size - size), size) == 0;
    };
    return std::any_of(previous_.begin(), previous_.end(), [&](const PreviousStream& each) { return ends(each.data, each.size); }) ||
           std::any_of(with_checks_.begin(), with_checks_.end(), [&](const Bytes& each) { return ends(each.data(), each.size()); });
  }

  static bool same_layout(const stz_layout& a, const stz_layout& b) {
    return a.dtype == b.dtype && a.byte_order == b.byte_order && a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
  }

  // Readers rely on what the header states.
  void check_header() const {
    require(header_.mode == STZ_LOSSLESS || states_the_bound(), STZ_ERROR_CHECK);
    require(!options_.bound_used || header_.bound_used, STZ_ERROR_CHECK);
    if (bytes_ == 0) return;  // headers of empty arrays with the longest shapes have no room for more
    const size_t width = component_size(layout_.dtype);
    const u64 used = width == 8 ? ~u64(0) : (u64(1) << (8 * width)) - 1;
    // Zeros that are kept may have the kind of fill values in a stream that needs it for nothing else.
    if (options_.keep_zeros && !options_.has_fill && header_.has_fill)
      require(header_.fill == 0, STZ_ERROR_CHECK);
    else
      require(header_.has_fill == (options_.has_fill != 0), STZ_ERROR_CHECK);
    require(!options_.has_fill || ((header_.fill ^ options_.fill) & used) == 0, STZ_ERROR_CHECK);
    if (previous_.empty() && header_.form == Form::blocks) require(header_.accumulated_bound >= options_.prior_bound, STZ_ERROR_CHECK);
  }

  // Whether the header states the requested bound. Elements kept from a previous stream may have a larger bound or another mode, which the
  // header then states instead.
  bool states_the_bound() const {
    if (header_.mode == options_.mode && header_.bound == options_.bound) return true;
    if (previous_.empty() || header_.form != Form::patched) return false;
    if (header_.mode != options_.mode) return header_.mode == STZ_ABSOLUTE;
    return header_.bound > options_.bound && std::any_of(previous_.begin(), previous_.end(), [&](const PreviousStream& each) {
             return header_.bound <= largest_bound_of(each);
           });
  }

  // The bound of elements kept from a previous stream; infinite if it is in another unit.
  double largest_bound_of(const PreviousStream& each) const {
    const Header h = read_header(each.data, each.size);
    if (h.mode != options_.mode && h.mode != STZ_LOSSLESS) return __builtin_inf();
    const double own = std::max(h.accumulated_bound, relaxed_bound(h));
    if (h.form != Form::patched) return own;
    return std::max(own, relaxed_bound(read_header(each.data + h.base_offset, size_t(h.base_size))));
  }

  // Whether the base of a patched stream is a previous stream or the base of one.
  bool is_old(const u8* base, size_t size) const {
    return ends_one_of_them(base, size, false);  // the base is at the end of a stream
  }

  // The largest error that the options allow for a new stream with this header.
  double allowed_error(const Header& h) const {
    if (!h.enhancement.any()) return options_.bound;
    const double relaxed = relaxed_bound(h);
    require((options_.enhance & STZ_ENHANCE_RELAXED) && relaxed <= largest_relaxation * options_.bound, STZ_ERROR_CHECK);
    return relaxed;
  }

  void compare(const u8* decoded, double allowed) const {
    const bool exact = must_be_exact(layout_, options_) || !bound_is_used(header_) || header_.mode == STZ_LOSSLESS;
    const size_t width = component_size(layout_.dtype);
    const u64 fill = width == 8 ? options_.fill : options_.fill & ((u64(1) << (8 * width)) - 1);
    const Promise promise{layout_.dtype,           exact ? i32(STZ_LOSSLESS) : options_.mode, allowed, options_.has_fill != 0, fill,
                          options_.keep_zeros != 0};
    compare_all(promise, decoded, nullptr);
    for (const PreviousStream& each : previous_) {
      if (!bound_is_used(read_header(each.data, each.size))) continue;
      Buffer<u8> before(bytes_);
      decode(each.data, each.size, before.data(), bytes_, threads_);
      compare_all(promise, decoded, before.data());
    }
  }

  // `before`: what a previous stream decodes to, or null.
  void compare_all(const Promise& promise, const u8* decoded, const u8* before) const {
    const size_t element = element_size(layout_.dtype);
    const u64 elements = element_count(layout_);
    struct Nothing {};
    parallel_for<Nothing>((elements + elements_per_task - 1) / elements_per_task, threads_, [&](Nothing&, u64 task) {
      const u64 first = task * elements_per_task, count = std::min(elements_per_task, elements - first);
      const u8* const old = before ? before + first * element : nullptr;
      compare_part(promise, data_ + first * element, decoded + first * element, old, count);
    });
  }

  void compare_part(const Promise& promise, const u8* array, const u8* decoded, const u8* before, u64 count) const {
    require(promise.allows_all(layout_, array, decoded, count), STZ_ERROR_CHECK);
    if (!before) return;
    const size_t element = element_size(layout_.dtype);
    for (u64 i = 0; i < count; i++) {
      const size_t at = size_t(i) * element;
      const bool kept = memcmp(array + at, before + at, element) == 0;
      require(!kept || memcmp(array + at, decoded + at, element) == 0, STZ_ERROR_CHECK);
    }
  }

  void check_layers(const Header& h, const u8* stream, size_t size, Buffer<u8>& room) const {
    for (size_t taken = 0; taken < h.layers.errors.size(); taken++) {
      decode(stream, size, room.data(), bytes_, threads_, nullptr, taken);
      const LayerError is = difference(h, data_, room.data()), stated = h.layers.errors[taken];
      const double rounding = 1e-9 * is.root_mean_square;
      require(is.largest <= stated.largest, STZ_ERROR_CHECK);
      if (!previous_.empty() && stated.root_mean_square == __builtin_inf()) continue;  // unknown if elements were kept
      require(is.root_mean_square == stated.root_mean_square || std::fabs(is.root_mean_square - stated.root_mean_square) <= rounding,
              STZ_ERROR_CHECK);
    }
  }

  const stz_layout& layout_;
  const u8* const data_;
  const stz_options& options_;
  const std::vector<PreviousStream>& previous_;
  std::vector<Bytes> with_checks_;  // previous streams, with content checks added
  const u8* const stream_;
  const size_t size_, bytes_;
  const int threads_;
  const Header header_;
};

// Whether an error is caused by the arguments, so that a second attempt would fail too.
bool is_of_arguments(int code) { return code <= STZ_ERROR_ARGUMENT && code >= STZ_ERROR_CAPACITY; }

}  // namespace

void check_stream(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                  const u8* stream, size_t size) {
  STZ_FAULT_POINT(array, data, size_t(array_bytes(layout)));
  try {
    StreamChecker(layout, data, options, previous, stream, size).run();
  } catch (const Failure&) {  // out of memory is another exception, and is passed on
    fail(STZ_ERROR_CHECK);
  }
}

size_t write_and_check(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                       const u8* out, FunctionRef<size_t()> write) {
  try {
    const size_t size = write();
    check_stream(layout, data, options, previous, out, size);
    return size;
  } catch (const Failure& failure) {
    if (is_of_arguments(failure.code)) throw;
  } catch (...) {  // out of memory: a wrong number may have caused a too large request
  }
  const size_t size = write();
  check_stream(layout, data, options, previous, out, size);
  return size;
}

}  // namespace stz
