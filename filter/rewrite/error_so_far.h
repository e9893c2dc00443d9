// What a stream that was rewritten in part says of its errors. What was kept has the error of the stream that it came out of, whatever the
// options of the rewrite say.
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

// The largest bound of any part of a stream: of a patched one, those of the base and of all patches count. `relaxed`: as enhancements have
// it. Parts in another mode than the whole are left out: the whole was given a bound that holds for them when they became a part of it.
double largest_bound(const Header& h, const u8* stream, bool relaxed);

// How far what was kept may be from what was compressed first, in the unit of the data: what a stream without loss records. 0: not known.
double error_of_kept(const Rewrite& rewrite);

// Sets the mode and the bound of a patched stream, so that they hold for every element, and its accumulated bound. The mode is that of the
// options, unless that of what was kept is another one: then it is absolute. `base_relaxed`: what the base of the stream promises; readers
// count it besides the bound.
void state_error(Header& h, const Rewrite& rewrite, double base_relaxed);

// States that besides, what was kept of other streams may be so far from what was compressed first: a bound in the unit of the data.
void state_error_of_others(Header& h, const Rewrite& rewrite, double error);

}  // namespace stz
