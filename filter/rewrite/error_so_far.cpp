#include "rewrite/error_so_far.h"

#include <algorithm>
#include <limits>

#include "encoder/encode.h"
#include "format/convert.h"

namespace stz {
namespace {

constexpr double rounding_up = 1 + 1e-14;  // covers the few roundings of a product of positive numbers

// Whether an element was stored exactly before, because it had the fill value of the old stream.
bool was_fill(const Rewrite& r, u64 bits) { return r.old.has_fill && bits == r.old.fill; }

// The largest magnitude of the finite numbers among the elements in a state. Without a list of changes all elements are kept. Free elements
// count as kept, unless they had the old stream's fill value: a new fill value may not have been exact in the old stream.
double largest_magnitude(const Rewrite& r, Change state) {
  const size_t element = element_size(r.layout.dtype), width = component_size(r.layout.dtype);
  const bool swap = swapped(r.layout), known = r.changes.state.size() != 0;
  const size_t n = size_t(element_count(r.layout));
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    const Change is = known ? Change(r.changes.state.data()[i]) : Change::kept;
    if (is != state && (is != Change::free || state != Change::kept)) continue;
    for (size_t at = 0; at < element; at += width) {
      const u64 bits = load_bits(r.data + i * element + at, width, swap);
      const double magnitude = __builtin_fabs(number_of(r.layout.dtype, bits));
      if (magnitude < __builtin_inf() && !(is == Change::free && was_fill(r, bits))) largest = std::max(largest, magnitude);
    }
  }
  return largest;
}

double finite_bound(double bound) { return std::min(bound, std::numeric_limits<double>::max()); }

double absolute_of_kept(const Rewrite& r, double relative) {
  return relative == 0 ? 0 : absolute_of(relative, largest_magnitude(r, Change::kept));
}

// The total error of written elements under a point-wise bound, in the unit of the data. `data` has the written values, whose magnitude is
// at least |x| (1 - prior) for an original x.
double absolute_of_written(const Rewrite& r) {
  if (r.options.prior_bound == 0) return finite_bound(r.options.bound * largest_magnitude(r, Change::fresh) * rounding_up);
  if (!(r.options.prior_bound < 1)) return STZ_UNKNOWN_BOUND;
  const double relative = accumulated(r.options, STZ_POINTWISE_RELATIVE);
  return finite_bound(relative / (1 - r.options.prior_bound) * largest_magnitude(r, Change::fresh) * rounding_up);
}

// Converts a point-wise bound to one in the unit of the data, so that it can be combined with the bound of kept elements.
void make_absolute(Header& h, const Rewrite& r) {
  h.mode = STZ_ABSOLUTE;
  h.bound = finite_bound(h.bound * largest_magnitude(r, Change::fresh) * rounding_up);
}

}  // namespace

double largest_bound(const Header& h, const u8* stream, bool relaxed) {
  const auto bound_of = [&](const Header& part) { return relaxed ? relaxed_bound(part) : part.bound; };
  if (h.form != Form::patched) return bound_of(h);
  double largest = h.bound;
  const auto include = [&](u64 offset, u64 size) {
    const Header part = read_header(stream + offset, size_t(size));
    if (part.mode == h.mode) largest = std::max(largest, bound_of(part));
  };
  for (const Patch& patch : h.patches) include(patch.offset, patch.size);
  include(h.base_offset, h.base_size);
  return largest;
}

double absolute_of(double relative, double largest_magnitude) {
  if (relative == 0 || largest_magnitude == 0) return 0;
  return relative < 1 ? finite_bound(relative / (1 - relative) * largest_magnitude * rounding_up) : STZ_UNKNOWN_BOUND;
}

double largest_magnitude_of_all(const stz_layout& layout, const u8* data) {
  const Header nothing;
  return largest_magnitude({layout, data, STZ_OPTIONS_INIT, Changes(), nothing, nullptr}, Change::kept);
}

double accumulated_before(const Header& h) {
  const bool is_silent = h.mode == STZ_LOSSLESS && bound_is_used(h) && h.accumulated_bound == 0;
  return is_silent ? STZ_UNKNOWN_BOUND : h.accumulated_bound;
}

double error_of_kept(const Rewrite& r) {
  const double before = accumulated_before(r.old);
  if (r.old.mode == STZ_LOSSLESS) return before;
  const double bound = std::max(before, largest_bound(r.old, r.previous, true));
  return r.old.mode == STZ_POINTWISE_RELATIVE ? absolute_of_kept(r, bound) : bound;
}

double prior_of_written(const stz_layout& layout, const u8* data, const stz_options& options) {
  if (options.mode != STZ_POINTWISE_RELATIVE || options.prior_bound == 0) return options.prior_bound;
  return absolute_of(options.prior_bound, largest_magnitude_of_all(layout, data));
}

// Sets mode and bound when the old stream is lossless. Its accumulated bound, if any, is in the unit of the data.
static void state_bound_over_exact(Header& h, const Rewrite& r) {
  const double before = accumulated_before(r.old), written = h.accumulated_bound;
  h.accumulated_bound = std::max(before, written);
  if (h.mode != STZ_POINTWISE_RELATIVE || h.accumulated_bound == STZ_UNKNOWN_BOUND) return;
  if (before == 0) return;
  h.accumulated_bound = std::max(before, absolute_of_written(r));
  make_absolute(h, r);
}

// Sets mode, bound and accumulated bound.
static void state_bound(Header& h, const Rewrite& r, double base_relaxed) {
  h.mode = r.options.mode;
  h.bound = r.options.bound;
  h.accumulated_bound = r.options.prior_bound > 0 ? accumulated(r.options, h.mode) : 0;
  if (r.old.mode == STZ_LOSSLESS) return state_bound_over_exact(h, r);
  double kept = largest_bound(r.old, r.previous, false), relaxed = largest_bound(r.old, r.previous, true);
  double before = r.old.accumulated_bound;
  if (r.old.mode != h.mode) {
    if (r.old.mode == STZ_POINTWISE_RELATIVE) {
      before = before == 0 ? 0 : absolute_of_kept(r, std::max(before, kept));
      kept = relaxed = absolute_of_kept(r, kept);
    } else {
      if (h.accumulated_bound > 0) h.accumulated_bound = absolute_of_written(r);
      make_absolute(h, r);
    }
    h.mode = STZ_ABSOLUTE;
  }
  h.accumulated_bound = std::max(h.accumulated_bound, before);
  if (relaxed > std::max(base_relaxed, kept)) kept = relaxed;  // the base was enhanced and has been replaced
  if (kept <= h.bound) return;
  h.bound = kept;
  // Tools that report how a bound grew look at the accumulated bound.
  if (h.mode == STZ_ABSOLUTE) h.accumulated_bound = std::max(h.accumulated_bound, kept);
}

void state_error(Header& h, const Rewrite& r, double base_relaxed) {
  state_bound(h, r, base_relaxed);
  // An accumulated bound must hold for every element, including those written now.
  if (h.accumulated_bound > 0) h.accumulated_bound = std::max(h.accumulated_bound, h.bound);
}

void state_error_of_others(Header& h, const Rewrite& r, double error) {
  if (h.mode == STZ_POINTWISE_RELATIVE) {
    const double kept = absolute_of_kept(r, h.bound);
    const double both = std::max(largest_magnitude(r, Change::kept), largest_magnitude(r, Change::fresh));
    if (h.accumulated_bound > 0) h.accumulated_bound = absolute_of(h.accumulated_bound, both);
    make_absolute(h, r);
    h.bound = std::max(h.bound, kept);
  }
  if (error == STZ_UNKNOWN_BOUND) h.accumulated_bound = error;
  if (error <= h.bound || error == STZ_UNKNOWN_BOUND) return;
  h.bound = error;
  h.accumulated_bound = std::max(h.accumulated_bound, error);
}

}  // namespace stz
