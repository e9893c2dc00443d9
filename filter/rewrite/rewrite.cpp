#include "rewrite/rewrite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/faults.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/frame.h"
#include "grid/box_rows.h"
#include "precision/add_content_check.h"
#include "precision/distance.h"
#include "precision/encode_layered.h"
#include "rewrite/error_so_far.h"
#include "rewrite/exact_size.h"
#include "rewrite/parts.h"
#include "rewrite/patch_encoder.h"

namespace stz {
namespace {

constexpr size_t most_boxes = 16;  // most boxes that one rewrite adds

class Rewriter {
 public:
  Rewriter(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& candidates)
      : layout_(layout), data_(data), options_(options), bytes_(size_t(array_bytes(layout))) {
    require(element_count(layout) > 0 && candidates.size() <= STZ_MAX_CANDIDATES, STZ_ERROR_ARGUMENT);
    for (const PreviousStream& each : candidates) {
      const Header header = read_header(each.data, each.size);
      require(same_array(header.layout), STZ_ERROR_ARGUMENT);
      if (bound_is_used(header))
        candidates_.push_back(each);
      else if (header.accumulated_bound > 0)
        inherit(header, each);
    }
  }

  Bytes run() {
    if (!compare_with_candidates()) return encode_layered(layout_, data_, options_);
    ask_for_checks();
    if (equal_ == element_count(layout_))
      // Without changes the old stream is the result; later rewrites may patch it.
      return previous_size_ <= bytes_ + 64 ? Bytes(previous_, previous_ + previous_size_) : without_loss();
    changes_ = find_changes(layout_, copied(of_base_), 1, data_, options_);
    STZ_FAULT_POINT_UP_TO(changes, changes_.state.data(), changes_.state.size(), u8(Change::free));
    const Changes elsewhere = kept_of_others();
    if (changes_.kept + elsewhere.kept == 0) return encode_layered(layout_, data_, options_);
    if (options_.mode == STZ_LOSSLESS || options_.bound == 0) return without_loss();
    return shortest(elsewhere);
  }

 private:
  bool same_array(const stz_layout& old) const {
    return old.dtype == layout_.dtype && old.byte_order == layout_.byte_order && old.rank == layout_.rank &&
           std::equal(old.shape, old.shape + old.rank, layout_.shape);
  }

  static Buffer<u8> copied(const Buffer<u8>& marks) {
    Buffer<u8> copy(marks.size());
    memcpy(copy.data(), marks.data(), marks.size());
    return copy;
  }

  static Buffer<u8> zeros(size_t count) {
    Buffer<u8> marks(count);
    memset(marks.data(), 0, count);
    return marks;
  }

  // Takes over the earlier error of a candidate that is exact itself, but whose samples were lossy before: they may be quantized again.
  void inherit(const Header& header, const PreviousStream& stream) {
    Buffer<u8> before(bytes_), marks = zeros(size_t(element_count(layout_)));
    decode(stream.data, stream.size, before.data(), bytes_, thread_count(options_.threads));
    if (mark_equal(layout_, before.data(), data_, 1, marks.data()) == 0) return;
    double prior = header.accumulated_bound;
    const bool was_relative = header.mode == STZ_POINTWISE_RELATIVE, is_relative = options_.mode == STZ_POINTWISE_RELATIVE;
    if (was_relative && !is_relative) prior = absolute_of(prior, largest_magnitude_of_all(layout_, data_));
    if (is_relative && !was_relative) prior = STZ_UNKNOWN_BOUND;
    options_.prior_bound = std::max(options_.prior_bound, prior);
  }

  // Finds the elements that equal those of a candidate. The candidate with most of them becomes the previous stream. Returns false if there
  // are none.
  bool compare_with_candidates() {
    const auto elements = size_t(element_count(layout_));
    Buffer<u8> before(candidates_.empty() ? 0 : bytes_);
    for (const PreviousStream& candidate : candidates_) {
      decode(candidate.data, candidate.size, before.data(), bytes_, thread_count(options_.threads));
      STZ_FAULT_POINT(decoded_before, before.data(), bytes_);
      Buffer<u8> of_candidate = zeros(elements);
      const u64 equal = mark_equal(layout_, before.data(), data_, 1, of_candidate.data());
      if (equal == 0) continue;
      equal_streams_.push_back(candidate);
      if (of_any_.size() == 0) of_any_ = zeros(elements);
      for (size_t i = 0; i < elements; i++) of_any_[i] |= of_candidate[i];
      if (equal <= equal_) continue;
      equal_ = equal;
      of_base_ = std::move(of_candidate);
      previous_ = candidate.data;
      previous_size_ = candidate.size;
    }
    if (equal_ == 0) return false;
    base_ = previous_;
    old_ = read_header(previous_, previous_size_);
    return true;
  }

  // Elements that equal those of another candidate, but not of the previous stream. They may come from an array that was changed in part,
  // too.
  Changes kept_of_others() {
    Changes others;
    if (equal_streams_.size() == 1) return others;
    Buffer<u8> marks(of_any_.size());
    bool any = false;
    for (size_t i = 0; i < marks.size(); i++) {
      marks[i] = of_any_[i] && !of_base_[i];
      any |= marks[i] != 0;
    }
    if (any) others = find_changes(layout_, std::move(marks), 1, data_, options_);
    if (others.kept != 0) find_errors_of(others);
    return others;
  }

  void find_errors_of(const Changes& others) {
    for (const PreviousStream& stream : equal_streams_) {
      if (stream.data == base_) continue;
      const Header header = read_header(stream.data, stream.size);
      error_of_others_ = std::max(error_of_others_, error_of_kept({layout_, data_, options_, others, header, stream.data}));
      others_promise_more_ |= !promises_as_much(header, stream.data);
    }
  }

  // Adds content checks to the previous stream, if the options ask for them and it has none.
  void ask_for_checks() {
    if (options_.content_check != STZ_CONTENT_CHECK_WRITE || has_content_check(previous_, previous_size_)) return;
    with_checks_ = with_content_check(previous_, previous_size_, thread_count(options_.threads));
    previous_ = with_checks_.data();
    previous_size_ = with_checks_.size();
    old_ = read_header(previous_, previous_size_);
  }

  stz_options lossless_options() const {
    stz_options exact = options_;
    exact.mode = STZ_LOSSLESS;
    exact.enhance = STZ_ENHANCE_NONE;
    exact.bound_used = 1;
    exact.prior_bound = std::max({error_of_others_, error_of_kept({layout_, data_, options_, changes_, old_, previous_}),
                                  prior_of_written(layout_, data_, options_)});
    return exact;
  }

  Bytes without_loss() const { return encode_layered(layout_, data_, lossless_options()); }

  // Encodes everything that differs from the base of a patched stream as one layer of lossless patches, or the whole array losslessly if
  // that is shorter. Scattered elements are masked in a patch: to code them together with the base's elements between them would take
  // several times as long, and more bytes.
  Bytes exact_over_base() const {
    if (old_.form != Form::patched) return without_loss();
    Buffer<u8> base(bytes_), marks = zeros(size_t(element_count(layout_)));
    decode(previous_ + old_.base_offset, size_t(old_.base_size), base.data(), bytes_, thread_count(options_.threads));
    const u64 seen = mark_equal(layout_, base.data(), data_, 1, marks.data());
    Parts parts;
    const Changes over = find_changes(layout_, std::move(marks), 1, data_, options_);
    Bytes best;
    if (seen > 0 && add_patches(parts, over, Change::fresh, exact_patch_options())) best = compose(parts, 0);
    if (best.empty() || seen < element_count(layout_) / 2) keep_shorter(best, without_loss());
    return best;
  }

  Bytes shortest(const Changes& elsewhere) {
    Bytes best;
    if (changes_.fresh > telling_kept()) {
      Parts parts;
      const Changes missed = encode_as_new(parts);
      if (missed.kept == 0 && states_what_was_kept()) return std::move(parts.new_base);
      if (missed.kept != 0) best = kept_over_new(parts, missed);
    }
    keep_shorter(best, changed_over_old(elsewhere));
    // Half of the estimate is used, because it may be too high. The size found last is out of date if much has changed.
    const bool is_known = old_.exact_size != 0 && changes_.fresh <= element_count(layout_) / 4;
    const u64 exact_size = is_known ? old_.exact_size : estimate_exact_size(layout_, data_, lossless_options()) / 2;
    if (best.empty() || exact_size_is_due(best.size(), exact_size)) {
      Bytes exact = exact_over_base();
      const u64 size = exact.size(), limit = is_slow(best) ? best.size() + best.size() / 2 : best.size();
      return with_exact_size(best.empty() || size <= limit ? std::move(exact) : std::move(best), size);
    }
    return is_known ? best : with_exact_size(std::move(best), exact_size);
  }

  // The number of kept elements that differ from the element before them. Padding and masks are equal in unrelated arrays, so they do not
  // prove that an array was kept.
  u64 telling_kept() const {
    const size_t element = element_size(layout_.dtype);
    u64 telling = 0;
    for (size_t i = 1; i < changes_.state.size(); i++)
      telling += changes_.state[i] == u8(Change::kept) && memcmp(data_ + i * element, data_ + (i - 1) * element, element) != 0;
    return telling;
  }

  // Whether the bound of kept elements is no larger than what a stream with these options promises.
  bool states_what_was_kept() const { return promises_as_much(old_, previous_) && !others_promise_more_; }

  bool promises_as_much(const Header& header, const u8* stream) const {
    if (header.mode == STZ_POINTWISE_RELATIVE && stream != previous_ && header.accumulated_bound > 0) return false;
    return header.mode == options_.mode && largest_bound(header, stream, true) <= options_.bound;
  }

  static void keep_shorter(Bytes& best, Bytes other) {
    if (best.empty() || (!other.empty() && other.size() < best.size())) best = std::move(other);
  }

  // Whether a lossless stream could be shorter by now. Finding out costs more than the rewrite itself, so it is done when the stream has
  // outgrown the size found last, and at some numbers of patches.
  bool exact_size_is_due(size_t size, u64 exact_size) const {
    const size_t count = old_.patches.size() + 1;
    return size > exact_size + exact_size / 16 || (count >= 8 && std::has_single_bit(count));
  }

  // Whether patches cover the array so many times that every read and rewrite is slow. A larger stream is then accepted.
  bool is_slow(const Bytes& stream) const {
    if (stream.empty()) return false;
    u64 patched = 0;
    for (const Patch& patch : read_header(stream.data(), stream.size()).patches) patched += element_count(patch_layout(layout_, patch));
    return patched > 4 * element_count(layout_);
  }

  Bytes changed_over_old(const Changes& elsewhere) const {
    Parts parts;
    parts.patches = old_.patches;
    if (!add_patches(parts, changes_, Change::fresh, patch_options())) return {};
    if (elsewhere.kept != 0 && !add_patches(parts, elsewhere, Change::kept, exact_patch_options())) return {};
    drop_hidden(layout_, parts);
    return compose(parts, old_.exact_size);
  }

  // Encodes the array as a new base. Returns the kept elements that it does not reproduce.
  Changes encode_as_new(Parts& parts) const {
    parts.new_base = encode_layered(layout_, data_, with_accumulated_bound());
    Buffer<u8> missed = copied(of_any_);
    const Header base = read_header(parts.new_base.data(), parts.new_base.size());
    if (bound_is_used(base)) {  // an exact stream would not record that a bound was used
      Buffer<u8> decoded(bytes_);
      decode(parts.new_base.data(), parts.new_base.size(), decoded.data(), bytes_, thread_count(options_.threads));
      Buffer<u8> comes_back = zeros(missed.size());
      mark_equal(layout_, decoded.data(), data_, 1, comes_back.data());
      for (size_t i = 0; i < missed.size(); i++) missed[i] = missed[i] && !comes_back[i];
    } else {
      parts.new_base.clear();
    }
    if (!parts.new_base.empty()) add_errors_of_kept(parts.new_base);
    return find_changes(layout_, std::move(missed), 1, data_, options_);
  }

  // Layer errors were measured against the array, whose kept elements have errors already. With all layers kept elements are reproduced, so
  // the larger error counts. With fewer layers both errors add up. Root mean squares are no longer known.
  void add_errors_of_kept(Bytes& stream) const {
    Header h = read_header(stream.data(), stream.size());
    const double kept = std::max(error_of_others_, error_of_kept({layout_, data_, options_, changes_, old_, previous_})) - earlier_error(h);
    if (h.layers.errors.empty() || !(kept > 0)) return;
    for (LayerError& error : h.layers.errors) {
      const double both = next_above(error.largest + kept);
      error = {&error == &h.layers.errors.back() ? std::max(error.largest, kept) : both, __builtin_inf()};
    }
    const Bytes header = write_header(h);
    require(header.size() == h.size, STZ_ERROR_INTERNAL);
    std::copy(header.begin(), header.end(), stream.begin());
  }

  // The options for a new base, with the accumulated bound of kept elements as prior bound.
  stz_options with_accumulated_bound() const {
    stz_options options = options_;
    double accumulated = old_.mode == options.mode ? old_.accumulated_bound : 0;  // otherwise the result is not this stream alone
    if (options.mode == STZ_ABSOLUTE) accumulated = std::max(accumulated, error_of_others_);
    if (accumulated > options.bound) {
      const double prior = std::nextafter(accumulated - options.bound, __builtin_inf());
      options.prior_bound = std::max(options.prior_bound, std::min(prior, STZ_UNKNOWN_BOUND));
    }
    return options;
  }

  // Returns an empty result if the new stream is exact: then without_loss() does the same.
  Bytes kept_over_new(Parts& parts, const Changes& missed) const {
    if (parts.new_base.empty() || !add_patches(parts, missed, Change::kept, exact_patch_options())) return {};
    return compose(parts, 0);
  }

  stz_options patch_options() const {
    stz_options options = options_;
    options.append_axis = 0;
    options.prior_bound = 0;
    return options;
  }

  stz_options exact_patch_options() const {
    stz_options options = patch_options();
    options.mode = STZ_LOSSLESS;
    return options;
  }

  bool add_patches(Parts& parts, const Changes& changes, Change wanted, const stz_options& options) const {
    for (const ChangedBox& box : boxes_of(layout_, changes, wanted, most_boxes)) {
      EncodedPatch patch;
      if (!encode_patch(layout_, data_, changes, wanted, box, options, patch)) return false;
      std::vector<EncodedPatch> whole;
      if (wanted == Change::fresh && box.others != 0 && options.mode != STZ_LOSSLESS) whole = whole_box(box, options, patch);
      if (whole.empty()) whole.push_back(std::move(patch));
      for (EncodedPatch& each : whole) {
        parts.patches.push_back(each.patch);
        parts.new_streams.push_back(std::move(each.stream));
      }
    }
    return true;
  }

  // A few kept elements, perhaps equal by chance, make a patch transparent, which keeps the old patches below it alive. This returns an
  // alternative: one patch of the whole box, which supersedes them, and a lossless patch with the kept elements over it. The result is
  // empty unless it is shorter. With many kept elements it rarely is, and finding out takes several times as long as the patch itself, so
  // it is then tried only at some numbers of superseded patches.
  std::vector<EncodedPatch> whole_box(const ChangedBox& box, const stz_options& options, const EncodedPatch& transparent) const {
    u64 size = transparent.patch.size, superseded = 0;
    for (const Patch& old : old_.patches) {
      if (!contains(layout_, transparent.patch, old)) continue;
      size += old.size;
      superseded++;
    }
    const bool few_others = box.others <= box.wanted / 3, many = superseded >= 8 && std::has_single_bit(superseded);
    if (superseded == 0 || (!few_others && !many)) return {};
    stz_options exact = options;
    exact.mode = STZ_LOSSLESS;
    ChangedBox plain = box;
    plain.others = 0;
    std::vector<EncodedPatch> both(2);
    if (!encode_patch(layout_, data_, changes_, Change::fresh, plain, options, both[0])) return {};
    if (!encode_patch(layout_, data_, changes_, Change::kept, box, exact, both[1])) return {};
    return both[0].patch.size + both[1].patch.size < size ? std::move(both) : std::vector<EncodedPatch>();
  }

  Bytes compose(const Parts& parts, u64 exact_size) const {
    const BaseStream base = base_of(parts, old_, previous_, previous_size_);
    Header h = patched_header();
    h.exact_size = exact_size;
    const Rewrite rewrite{layout_, data_, options_, changes_, old_, previous_};
    state_error(h, rewrite, relaxed_bound(read_header(base.data, base.size)));
    if (others_promise_more_) state_error_of_others(h, rewrite, error_of_others_);
    return join(h, parts, base, previous_);
  }

  Header patched_header() const {
    Header h;
    h.layout = layout_;
    h.has_fill = options_.has_fill != 0;
    h.fill = options_.fill;
    h.block = stz_block(options_.block);
    return h;
  }

  const stz_layout& layout_;
  const u8* data_;
  stz_options options_;
  const size_t bytes_;
  std::vector<PreviousStream> candidates_;     // those whose bound is used
  Buffer<u8> of_any_, of_base_;                // for each element: 1 if a candidate, or the previous stream, has the same bits
  u64 equal_ = 0;                              // number of elements equal to those of the previous stream
  std::vector<PreviousStream> equal_streams_;  // candidates that share at least one element
  double error_of_others_ = 0;                 // largest error of elements kept from other streams, in the unit of the data
  bool others_promise_more_ = false;           // they have a larger error than the options allow, or one of another kind
  const u8* base_ = nullptr;                   // the previous stream as it was passed in
  const u8* previous_ = nullptr;
  size_t previous_size_ = 0;
  Header old_;
  Bytes with_checks_;  // `previous_` points here once content checks were added
  Changes changes_;
};

}  // namespace

Bytes rewrite(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& candidates) {
  stz_options given = options;
  if (!candidates.empty()) given.learned = nullptr;  // patches and exact parts resemble no whole chunks
  return Rewriter(layout, data, given, candidates).run();
}

}  // namespace stz
