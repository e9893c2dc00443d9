// Chunk shapes and caches by arithmetic alone (chunk_shape.h). Invariant: a chunk is never longer than the array along any axis, which
// HDF5 refuses for arrays that cannot grow.
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

// At most `most` planes of `extent`, as few times as possible, evenly, in multiples of the side where that takes no more pieces.
hsize_t share(hsize_t extent, hsize_t most) {
  const hsize_t length = pieces(extent, pieces(extent, most));
  const hsize_t rounded = pieces(length, least_side) * least_side;
  return rounded <= most ? rounded : length;
}

// How many planes are worth cutting the axes after this one for: 32, or 16 or 8 where more would take too much memory, or none.
// `samples_left`: of a chunk.
hsize_t side_of(hsize_t extent, hsize_t plane, hsize_t samples_left, bool thick) {
  for (const hsize_t side : {least_side, least_side / 2, least_side / 4}) {
    const hsize_t length = std::min(side, extent);
    if (length <= samples_left && (thick || plane <= window_bytes / length)) return length;
  }
  return 0;
}

}  // namespace

void choose_chunk(int rank, const hsize_t* extents, hsize_t element_size, hsize_t* chunk) noexcept {
  hsize_t plane = element_size;  // bytes of the array at one index of this axis and those before
  for (int axis = 0; axis < rank; ++axis) plane *= extents[axis];
  hsize_t bytes_left = chunk_bytes;  // what is left of a chunk for this axis and those after
  bool thick = false;                // an axis before has more than one plane: a write of one touches all that are beside it anyway
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
  // HDF5's hash of a chunk: its index along the slowest axis, then as many bits as the number of chunks needs for each axis after it.
  hsize_t slots = 1, chunks = 1, chunk_bytes = element_size;
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t count = std::max<hsize_t>(pieces(extents[axis], chunk[axis]), 1);
    const hsize_t places = std::min(count, most_slots);
    slots = std::min(slots * (axis ? std::bit_ceil(places) : places), most_slots);
    if (__builtin_mul_overflow(chunks, count, &chunks)) chunks = ~hsize_t{0};
    chunk_bytes *= chunk[axis];
  }
  const hsize_t held = std::clamp<hsize_t>(most_bytes / chunk_bytes, 1, chunks);
  slots = std::max(slots, std::min(8 * held + 1, most_slots));  // of an array that grows the number of chunks is not known
  return {static_cast<size_t>(slots), static_cast<size_t>(held * chunk_bytes)};
}

}  // namespace stz::intercept
