#include "precision/size_estimate.h"

#include "base/buffer.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "precision/encode_layered.h"

namespace stz {
namespace {

constexpr u64 most_compressed = u64(1) << 21;  // elements: larger arrays are estimated, which takes about as long as compressing this many

// The mean squared difference of the valid numbers of two arrays: finite, and not the fill value. The others have the same bits in both.
double mean_squared_error(const stz_layout& layout, const stz_options& options, const u8* array, const u8* other) {
  const size_t width = component_size(layout.dtype);
  const bool swap = swapped(layout);
  const u64 n = element_count(layout) * u64(components(layout.dtype));
  const u64 fill = width == 8 ? options.fill : options.fill & ((u64(1) << (8 * width)) - 1);
  double sum = 0;
  u64 count = 0;
  for (u64 i = 0; i < n; i++) {
    const u64 bits = load_bits(array + i * width, width, swap);
    if (options.has_fill && bits == fill) continue;
    if (!(__builtin_fabs(number_of(layout.dtype, bits)) < __builtin_inf())) continue;
    const double e = distance_of(layout.dtype, bits, load_bits(other + i * width, width, swap));
    sum += e * e;
    count++;
  }
  return count ? sum / double(count) : 0;
}

// For arrays that are small enough to be compressed.
stz_size_estimate exact_size(const stz_layout& layout, const u8* data, const stz_options& options) {
  const Bytes stream = encode_layered(layout, data, options);
  Buffer<u8> decoded(array_bytes(layout));
  decode(stream.data(), stream.size(), decoded.data(), decoded.size(), thread_count(options.threads));
  return {sizeof(stz_size_estimate), double(stream.size()), 0, mean_squared_error(layout, options, data, decoded.data()), 1, 0};
}

}  // namespace

stz_size_estimate size_estimate(const stz_layout& layout, const u8* data, const stz_options& options) {
  SizeEstimate expected;
  if (element_count(layout) > most_compressed) expected = estimate(layout, data, options);
  if (expected.squared_error < 0) return exact_size(layout, data, options);
  return {sizeof(stz_size_estimate), expected.bytes, expected.variance, expected.squared_error, 0, 0};
}

}  // namespace stz
