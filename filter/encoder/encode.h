// From an array to a stream.
#pragma once
#include "encoder/plan/result.h"
#include "stz.h"

namespace stz {

// The stream of an array; never longer than the array + 64 bytes.
// unknown_bits: of the indices of level 0, how many of the lowest bits are unknown with one precision layer, with two, ...; falling, above
// 0. Empty: as many layers as the options say, cut evenly.
Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<int>& unknown_bits = {});
// Writes a stream of the form "raw" to `out`, where there is room for the array + 64 bytes, and returns its length. Takes memory for a
// header alone.
size_t store(const stz_layout& layout, const u8* data, const stz_options& options, u8* out);
// The accumulated bound of a stream of this mode: what an array with options.prior_bound has lost once it is compressed.
double accumulated(const stz_options& options, i32 mode);
// Must the elements come back with their bits, whatever the mode says?
bool must_be_exact(const stz_layout& layout, const stz_options& options);
// Its expected size and error; the error is not known where nothing is left out.
SizeEstimate estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
