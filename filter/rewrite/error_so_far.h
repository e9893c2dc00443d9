// The errors that a patched stream states. Kept samples have the error of the stream that they came out of, whatever the options of the
// rewrite are.
#pragma once
#include "format/frame.h"
#include "rewrite/changes.h"

namespace stz {

// A rewrite: the array, what of it was kept, and the stream that it came out of, whose header is `old`.
struct Rewrite {
  const stz_layout& layout;
  const u8* data;
  const stz_options& options;
  const Changes& changes;  // none: all was kept
  const Header& old;
  const u8* previous;
};

// The largest bound of any part of a stream: for a patched one, of the base and of all patches. `relaxed`: the bound that holds after
// enhancement. Parts in another mode than the whole are left out: when they became parts, the whole was given a bound that holds for them.
double largest_bound(const Header& h, const u8* stream, bool relaxed);

// The accumulated bound of a stream, in the unit of its bound. STZ_UNKNOWN_BOUND if its samples lost something before, but it does not
// record how much.
double accumulated_before(const Header& h);

// How far kept samples may be from those that were compressed first, in the unit of the data. STZ_UNKNOWN_BOUND: not known.
double error_of_kept(const Rewrite& rewrite);

// What elements that were written had lost before: options.prior_bound, in the unit of the data. 0: nothing.
double prior_of_written(const stz_layout& layout, const u8* data, const stz_options& options);

// Turns a bound that is relative to the samples x that were compressed first into an absolute one. largest_magnitude: of the samples x'
// that they are now. |x - x'| <= relative |x| says that |x - x'| <= relative / (1 - relative) |x'|.
double absolute_of(double relative, double largest_magnitude);

// The largest magnitude of the finite numbers of an array of which all was kept.
double largest_magnitude_of_all(const stz_layout& layout, const u8* data);

// Sets the mode and the bound of a patched stream, so that they hold for every element, and its accumulated bound. The mode is that of the
// options, or absolute if what was kept has another one. `base_relaxed`: what the base of the stream promises. Readers count it besides the
// bound.
void state_error(Header& h, const Rewrite& rewrite, double base_relaxed);

// States that besides, what was kept of other streams may be so far from what was compressed first: a bound in the unit of the data.
void state_error_of_others(Header& h, const Rewrite& rewrite, double error);

}  // namespace stz
