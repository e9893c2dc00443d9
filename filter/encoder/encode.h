// From an array to a stream.
#pragma once
#include "encoder/plan/result.h"
#include "format/value_range.h"
#include "stz.h"

namespace stz {

// Returns the stream of an array, which is never longer than the array + 64 bytes, and of any form but patched.
// unknown_bits: the number of lowest bits of level 0's indices that are unknown with one precision layer, with two, ...; falling, above 0.
// Empty: the number of layers in the options, cut evenly.
Bytes encode(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<int>& unknown_bits = {});
// The same, or a patched stream that stores boxes of the array as differences from other boxes, if it is smaller (encode_repeats.h).
Bytes encode_whole(const stz_layout& layout, const u8* data, const stz_options& options);
// Writes a stream of the form "raw" to `out`, which has room for the array + 64 bytes, and returns its length. Allocates memory for a
// header only.
size_t store(const stz_layout& layout, const u8* data, const stz_options& options, u8* out);
// The accumulated bound of a stream of this mode: the total loss of an array with options.prior_bound after its compression.
double accumulated(const stz_options& options, i32 mode);
// Whether the elements must be lossless in every mode.
bool must_be_exact(const stz_layout& layout, const stz_options& options);
// The range of values (format/value_range.h) of a floating-point array with an enhancement, whose errors may be larger than the bound.
ValueRange range_with_enhancement(const stz_layout& layout, const u8* data, const stz_options& options);
// Fits an array, and has `memory` remember what that taught.
void train(const stz_layout& layout, const u8* data, const stz_options& options, stz_learned& memory);
// The expected size and error of the stream of an array. The error is not known if the whole array was coded.
SizeEstimate estimate(const stz_layout& layout, const u8* data, const stz_options& options);

}  // namespace stz
