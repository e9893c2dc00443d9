#include "hdf5/stream_layout.h"

#include <algorithm>

#include "base/element_type.h"

namespace stz::hdf5 {
namespace {

int next_long_axis(const stz_layout& layout, int axis) {
  while (axis < layout.rank && layout.shape[axis] == 1) ++axis;
  return axis;
}

}  // namespace

bool same_samples(const stz_layout& stream, const stz_layout& chunk) {
  const size_t size = element_size(chunk.dtype);
  const bool same_type =
      stream.dtype == chunk.dtype || (is_integer(stream.dtype) && is_integer(chunk.dtype) && element_size(stream.dtype) == size);
  return same_type && (size == 1 || stream.byte_order == chunk.byte_order);
}

bool same_raster(const stz_layout& stream, const stz_layout& chunk) {
  int a = next_long_axis(stream, 0), b = next_long_axis(chunk, 0);
  while (a < stream.rank && b < chunk.rank && stream.shape[a] == chunk.shape[b]) {
    a = next_long_axis(stream, a + 1);
    b = next_long_axis(chunk, b + 1);
  }
  return a == stream.rank && b == chunk.rank;
}

bool same_shape(const stz_layout& stream, const stz_layout& chunk) {
  return std::equal(stream.shape, stream.shape + stream.rank, chunk.shape, chunk.shape + chunk.rank);
}

}  // namespace stz::hdf5
