#include "precision/encode_layered.h"

#include <algorithm>

#include "base/buffer.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "precision/distance.h"
#include "precision/enhance_stream.h"

namespace stz {
namespace {

struct Distances {
  double largest = 0, squares = 0;
  u64 count = 0;
  void add(double rounded, double up) {
    largest = std::max(largest, up);
    squares += rounded * rounded;
    count++;
  }
  LayerError error() const { return {largest, count ? __builtin_sqrt(squares / double(count)) : 0}; }
};

// Components of a floating-point type of the host, as they lie in memory.
template <class T>
Distances plain_distances(const u8* array, const u8* other, u64 n) {
  Distances all;
  double largest_rounded = 0;
  for (u64 i = 0; i < n; i++) {
    T x, y;
    memcpy(&x, array + i * sizeof(T), sizeof(T));
    memcpy(&y, other + i * sizeof(T), sizeof(T));
    if (!(__builtin_fabs(double(x)) < __builtin_inf())) continue;
    const double d = __builtin_fabs(double(x) - double(y));
    all.squares += d * d;
    all.count++;
    if (d < largest_rounded) continue;
    largest_rounded = d;
    all.largest = std::max(all.largest, distance_up(double(x), double(y)));
  }
  return all;
}

}  // namespace

LayerError difference(const stz_layout& layout, const u8* array, const u8* other) {
  const i32 dtype = layout.dtype;
  const size_t width = component_size(dtype);
  const bool swap = swapped(layout);
  const u64 n = element_count(layout) * u64(components(dtype));
  if (is_floating(dtype) && !swap && width == 4) return plain_distances<float>(array, other, n).error();
  if (is_floating(dtype) && !swap && width == 8) return plain_distances<double>(array, other, n).error();
  Distances all;
  const u64 top = dtype == STZ_I64 ? u64(1) << 63 : 0;  // so that unsigned numbers have the order of signed ones
  for (u64 i = 0; i < n; i++) {
    const u64 x = load_bits(array + i * width, width, swap), y = load_bits(other + i * width, width, swap);
    if (dtype == STZ_I64 || dtype == STZ_U64) {
      const double up = distance_up(x ^ top, y ^ top);
      all.add(up, up);
      continue;
    }
    const double number = number_of(dtype, x), of_other = number_of(dtype, y);
    if (__builtin_fabs(number) < __builtin_inf()) all.add(__builtin_fabs(number - of_other), distance_up(number, of_other));
  }
  return all.error();
}

Bytes encode_layered(const stz_layout& layout, const u8* data, const stz_options& options) {
  Bytes stream = encode(layout, data, options);
  if (options.enhance) enhance_stream(layout, data, options, stream);
  if (options.layers < 2) return stream;
  Header h = read_header(stream.data(), stream.size());
  if (!h.layers.any()) return stream;
  Buffer<u8> decoded(array_bytes(layout));
  for (size_t taken = 0; taken < h.layers.errors.size(); taken++) {
    decode(stream.data(), stream.size(), decoded.data(), decoded.size(), thread_count(options.threads), nullptr, taken);
    h.layers.errors[taken] = difference(layout, data, decoded.data());
  }
  const Bytes header = write_header(h);
  require(header.size() == h.size, STZ_ERROR_INTERNAL);
  std::copy(header.begin(), header.end(), stream.begin());
  return stream;
}

}  // namespace stz
