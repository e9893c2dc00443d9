// Chunk shapes and caches by arithmetic alone (chunk_shape.h). Invariant: a chunk is never longer than the array along any axis, which
// HDF5 refuses for arrays that cannot grow.
#include "chunk_shape.h"

#include <algorithm>
#include <bit>

namespace stz::transparent {
namespace {

constexpr Size kChunkBytes = 16 << 20;
constexpr Size kWindowBytes = 128 << 20;
constexpr Size kSide = 32;
constexpr Size kMostSlots = 1 << 20;

Size pieces(Size extent, Size length) { return extent / length + (extent % length != 0); }

// At most `most` planes of `extent`, as few times as possible, evenly, in multiples of the side where that takes no more pieces.
Size share(Size extent, Size most) {
  const Size length = pieces(extent, pieces(extent, most));
  const Size rounded = pieces(length, kSide) * kSide;
  return rounded <= most ? rounded : length;
}

// How many planes are worth cutting the axes after this one for: 32, or 16 or 8 where more would take too much memory, or none.
// `room` is in samples.
Size side_of(Size extent, Size plane, Size room, bool thick) {
  for (const Size side : {kSide, kSide / 2, kSide / 4}) {
    const Size length = std::min(side, extent);
    if (length <= room && (thick || plane <= kWindowBytes / length)) return length;
  }
  return 0;
}

}  // namespace

void choose_chunk(int rank, const Size* extents, Size element_size, Size* chunk) noexcept {
  Size plane = element_size;  // bytes of the array at one index of this axis and those before
  for (int axis = 0; axis < rank; ++axis) plane *= extents[axis];
  Size room = kChunkBytes;  // what is left of a chunk for this axis and those after
  bool thick = false;       // an axis before has more than one plane: a write of one touches all that are beside it anyway
  for (int axis = 0; axis < rank; ++axis) {
    const Size extent = extents[axis];
    plane /= extent;
    const Size most = room / plane;
    const Size side = most < kSide && axis + 1 < rank ? side_of(extent, plane, room / element_size, thick) : 0;
    if (most >= extent) {
      chunk[axis] = extent;
    } else if (most >= kSide) {
      chunk[axis] = share(extent, most);
    } else {
      chunk[axis] = std::max<Size>({most, side, 1});
    }
    room /= chunk[axis];
    thick |= chunk[axis] > 1;
  }
}

ChunkCache cache_for(int rank, const Size* extents, const Size* chunk, Size element_size, Size most_bytes) noexcept {
  // HDF5's hash of a chunk: its index along the slowest axis, then as many bits as the number of chunks needs for each axis after it.
  Size slots = 1, chunks = 1, chunk_bytes = element_size;
  for (int axis = 0; axis < rank; ++axis) {
    const Size count = std::max<Size>(pieces(extents[axis], chunk[axis]), 1);
    const Size places = std::min(count, kMostSlots);
    slots = std::min(slots * (axis ? std::bit_ceil(places) : places), kMostSlots);
    if (__builtin_mul_overflow(chunks, count, &chunks)) chunks = ~Size{0};
    chunk_bytes *= chunk[axis];
  }
  const Size held = std::clamp<Size>(most_bytes / chunk_bytes, 1, chunks);
  slots = std::max(slots, std::min(8 * held + 1, kMostSlots));  // of an array that grows the number of chunks is not known
  return {static_cast<size_t>(slots), static_cast<size_t>(held * chunk_bytes)};
}

}  // namespace stz::transparent
