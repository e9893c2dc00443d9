// Checks a stream before it is given to anybody: it is decoded as a reader will decode it, and compared with the array that it was made of.
// It finds damage by a flipped bit in memory or a processor error during compression. It uses no state of the encoder. The CRCs of the
// stream are those that a reader will see, so they find damage after the check.
#pragma once
#include <vector>

#include "base/common.h"
#include "base/function_ref.h"
#include "stz.h"

namespace stz {

// A stream that an array came out of, perhaps, before it was changed in part (stz_rewrite).
struct PreviousStream {
  const u8* data = nullptr;
  size_t size = 0;
};

// Fails with STZ_ERROR_CHECK unless
// - the whole stream can be decoded, and agrees with its content check if it has one;
// - every component is what the options promise (promise.h), and has its bits where the header says that nothing was lost;
// - elements that are equal to what one of `previous` decodes to have the same bits again;
// - the errors that the header states for each number of precision layers are no less than the true ones;
// - the header says what was asked for.
// Takes memory for the decoded array, with `previous` for two.
void check_stream(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                  const u8* stream, size_t size);

// Returns the size of the stream that `write` puts at `out`, once check_stream finds no error. If it finds one, or `write` fails in a way
// that arguments do not explain, everything is done once more from the start: a flipped bit may be right again. A second failure is passed
// on.
size_t write_and_check(const stz_layout& layout, const u8* data, const stz_options& options, const std::vector<PreviousStream>& previous,
                       const u8* out, FunctionRef<size_t()> write);

}  // namespace stz
