// The error bounds that the header of a patched stream records. Kept samples keep the error of the stream that they came from, whatever the
// options of the rewrite are.
#pragma once
#include "format/frame.h"
#include "rewrite/changes.h"

namespace stz {

// One rewrite: the array, its changes, and the stream `previous` with header `old` that the array came from.
struct Rewrite {
  const stz_layout& layout;
  const u8* data;
  const stz_options& options;
  const Changes& changes;  // empty: all elements are kept
  const Header& old;
  const u8* previous;
};

// The largest bound of any part of a stream: for a patched stream, of its base and all patches. `relaxed`: the bound after enhancement.
// Parts in another mode than the whole are left out, because the whole was given a bound that covers them when they were added.
double largest_bound(const Header& h, const u8* stream, bool relaxed);

// The accumulated bound of a stream, in the unit of its bound. STZ_UNKNOWN_BOUND if its samples were lossy before but the stream does not
// record by how much.
double accumulated_before(const Header& h);

// The largest error of kept samples against the originals that were compressed first, in the unit of the data; or STZ_UNKNOWN_BOUND.
double error_of_kept(const Rewrite& rewrite);

// The error that written elements had before: options.prior_bound, converted to the unit of the data. 0: none.
double prior_of_written(const stz_layout& layout, const u8* data, const stz_options& options);

// Converts a bound relative to the originals x into an absolute one. largest_magnitude: of the decoded samples x'. |x - x'| <= relative |x|
// implies |x - x'| <= relative / (1 - relative) |x'|.
double absolute_of(double relative, double largest_magnitude);

// The largest magnitude of the finite numbers in an array; all its elements count as kept.
double largest_magnitude_of_all(const stz_layout& layout, const u8* data);

// Sets mode, bound and accumulated bound of a patched stream so that they hold for every element. The mode is that of the options, or
// absolute if kept elements have another mode. `base_relaxed`: the bound of the stream's base after enhancement, which readers take into
// account in addition to the bound.
void state_error(Header& h, const Rewrite& rewrite, double base_relaxed);

// Extends these bounds to elements kept from other streams. `error`: their largest error, in the unit of the data.
void state_error_of_others(Header& h, const Rewrite& rewrite, double error);

}  // namespace stz
