#include "rewrite/error_so_far.h"

#include <algorithm>
#include <limits>

#include "format/convert.h"

namespace stz {
namespace {

constexpr double rounding_up = 1 + 1e-14;  // more than the few roundings of a product of positive numbers

// Was an element stored exactly before, because it had the fill value of the old stream?
bool was_fill(const Rewrite& r, u64 bits) { return r.old.has_fill && bits == r.old.fill; }

// The largest magnitude of the finite numbers among the elements in a state. Where no changes are known, all were kept. What the new
// stream has for fill values counts as kept, unless the old one had too.
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

double finite(double bound) { return std::min(bound, std::numeric_limits<double>::max()); }

// |x - x'| <= relative |x| says of a decoded number that |x - x'| <= relative / (1 - relative) |x'|.
double absolute_of_kept(const Rewrite& r, double relative) {
  const double largest = largest_magnitude(r, Change::kept);
  if (relative == 0 || largest == 0) return 0;
  return relative < 1 ? finite(relative / (1 - relative) * largest * rounding_up) : std::numeric_limits<double>::max();
}

// A point-wise bound becomes one in the unit of the data, which holds beside what was kept.
void make_absolute(Header& h, const Rewrite& r) {
  h.mode = STZ_ABSOLUTE;
  h.bound = finite(h.bound * largest_magnitude(r, Change::fresh) * rounding_up);
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

double error_of_kept(const Rewrite& r) {
  if (r.old.mode == STZ_LOSSLESS) return r.old.accumulated_bound;
  const double bound = largest_bound(r.old, r.previous, true);
  if (r.old.mode == STZ_POINTWISE_RELATIVE) return std::max(r.old.accumulated_bound, absolute_of_kept(r, bound));
  return std::max(r.old.accumulated_bound, bound);
}

// Sets the mode and the bound.
static void state_bound(Header& h, const Rewrite& r, double base_relaxed) {
  h.mode = r.options.mode;
  h.bound = r.options.bound;
  h.accumulated_bound = r.old.accumulated_bound;
  if (r.options.prior_bound > 0) h.accumulated_bound = std::max(h.accumulated_bound, finite(r.options.prior_bound + h.bound));
  if (r.old.mode == STZ_LOSSLESS) {  // what was lost before is in its accumulated bound, which is in the unit of the data
    if (h.mode != STZ_POINTWISE_RELATIVE || h.accumulated_bound == 0) return;
    make_absolute(h, r);
    h.accumulated_bound = std::max(h.accumulated_bound, h.bound);
    return;
  }
  double kept = largest_bound(r.old, r.previous, false), relaxed = largest_bound(r.old, r.previous, true);
  if (r.old.mode != h.mode) {
    if (r.old.mode == STZ_POINTWISE_RELATIVE)
      kept = relaxed = absolute_of_kept(r, kept);
    else
      make_absolute(h, r);
    h.mode = STZ_ABSOLUTE;
  }
  if (relaxed > std::max(base_relaxed, kept)) kept = relaxed;  // of an enhanced base that has been replaced
  if (kept <= h.bound) return;
  h.bound = kept;
  // Programs that tell people what has become of a bound look here.
  if (h.mode == STZ_ABSOLUTE) h.accumulated_bound = std::max(h.accumulated_bound, kept);
}

void state_error(Header& h, const Rewrite& r, double base_relaxed) {
  state_bound(h, r, base_relaxed);
  // An accumulated bound holds for every element: for what was written now, too.
  if (h.mode == STZ_ABSOLUTE && h.accumulated_bound > 0) h.accumulated_bound = std::max(h.accumulated_bound, h.bound);
}

void state_error_of_others(Header& h, const Rewrite& r, double error) {
  if (h.mode == STZ_POINTWISE_RELATIVE) {
    const double kept = absolute_of_kept(r, h.bound);
    make_absolute(h, r);
    h.bound = std::max(h.bound, kept);
  }
  if (error <= h.bound) return;
  h.bound = error;
  h.accumulated_bound = std::max(h.accumulated_bound, error);
}

}  // namespace stz
