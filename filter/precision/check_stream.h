// Checks a stream before it is handed out: decodes it as a reader would, and compares the result with the array. This finds flipped bits in
// memory and processor errors during compression. No state of the encoder is used. Damage after the check is found by the stream's CRCs,
// which the check verified.
#pragma once
#include <vector>

#include "base/common.h"
#include "base/function_ref.h"
#include "stz.h"

namespace stz {

// A stream that the array may have been decoded from before it was changed in part (stz_rewrite).
struct PreviousStream {
  const u8* data = nullptr;
  size_t size = 0;
};

// Fails with STZ_ERROR_CHECK unless
// - the whole stream can be decoded, and agrees with its content check if it has one;
// - every component keeps the promise of the options (promise.h), and its bits where the header says lossless;
// - elements that equal what one of `previous` decodes to keep their bits;
// - the errors in the header for each number of precision layers are at least the true ones;
// - the header agrees with the request.
// Needs memory for the decoded array; with `previous`, for two of them.
void check_stream(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                  const u8* stream, size_t size);

// Returns the size of the stream that `write` puts at `out`, after check_stream accepted it. If the check fails, or `write` fails for a
// reason other than its arguments, everything is done once more from the start: a flipped bit may have been temporary. A second failure is
// passed on.
size_t write_and_check(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                       const u8* out, FunctionRef<size_t()> write);

}  // namespace stz
