// Invariant: a chunk is never longer than the array along any axis. HDF5 refuses such chunks for arrays of fixed size.
#include "intercept/chunk_shape.h"

#include <algorithm>
#include <bit>

namespace stz::intercept {
namespace {

constexpr hsize_t chunk_bytes = 16 << 20;
constexpr hsize_t window_bytes = 128 << 20;
constexpr hsize_t least_side = 32;
constexpr hsize_t most_slots = 1 << 20;

hsize_t pieces(hsize_t extent, hsize_t length) { return extent / length + (extent % length != 0); }

// Divides an extent into as few pieces of at most `most` planes as possible: equal ones, rounded up to multiples of least_side if these are
// not too long.
hsize_t share(hsize_t extent, hsize_t most) {
  const hsize_t length = pieces(extent, pieces(extent, most));
  const hsize_t rounded = pieces(length, least_side) * least_side;
  return rounded <= most ? rounded : length;
}

// Planes that a chunk gets along this axis at the cost of cutting the faster axes: 32, 16 or 8, whichever does not take too much memory;
// else 0. `samples_left`: samples that a chunk can still have.
hsize_t side_of(hsize_t extent, hsize_t plane, hsize_t samples_left, bool thick) {
  for (const hsize_t side : {least_side, least_side / 2, least_side / 4}) {
    const hsize_t length = std::min(side, extent);
    if (length <= samples_left && (thick || plane <= window_bytes / length)) return length;
  }
  return 0;
}

}  // namespace

void choose_chunk(int rank, const hsize_t* extents, hsize_t element_size, hsize_t* chunk) noexcept {
  hsize_t plane = element_size;  // bytes of the array at one index of the axes up to this one
  for (int axis = 0; axis < rank; ++axis) plane *= extents[axis];
  hsize_t bytes_left = chunk_bytes;  // what is left of a chunk for this axis and the faster ones
  // a slower axis has several planes per chunk: writing one plane touches all chunks beside it anyway
  bool thick = false;
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t extent = extents[axis];
    plane /= extent;
    const hsize_t most = bytes_left / plane;
    const hsize_t side = most < least_side && axis + 1 < rank ? side_of(extent, plane, bytes_left / element_size, thick) : 0;
    if (most >= extent)
      chunk[axis] = extent;
    else if (most >= least_side)
      chunk[axis] = share(extent, most);
    else
      chunk[axis] = std::max<hsize_t>({most, side, 1});
    bytes_left /= chunk[axis];
    thick |= chunk[axis] > 1;
  }
}

ChunkCache cache_for(int rank, const hsize_t* extents, const hsize_t* chunk, hsize_t element_size, hsize_t most_bytes) noexcept {
  // HDF5 hashes a chunk to its index along the slowest axis, followed by as many bits for each faster axis as its number of chunks needs.
  hsize_t slots = 1, chunks = 1, chunk_bytes = element_size;
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t count = std::max<hsize_t>(pieces(extents[axis], chunk[axis]), 1);
    const hsize_t places = std::min(count, most_slots);
    slots = std::min(slots * (axis ? std::bit_ceil(places) : places), most_slots);
    if (__builtin_mul_overflow(chunks, count, &chunks)) chunks = ~hsize_t{0};
    chunk_bytes *= chunk[axis];
  }
  const hsize_t held = std::clamp<hsize_t>(most_bytes / chunk_bytes, 1, chunks);
  slots = std::max(slots, std::min(8 * held + 1, most_slots));  // more than needed: an array may grow
  return {static_cast<size_t>(slots), static_cast<size_t>(held * chunk_bytes)};
}

}  // namespace stz::intercept
