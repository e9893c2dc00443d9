#include "predict/block_rows.h"

#include <vector>

#include "base/stages.h"

namespace stz {

namespace {

// Calls row(class of the even samples, offset in its class array, row of the grid, i, j, k) for every row in some planes of the block.
template <class T, class F>
void for_grid_rows(const BlockGeometry& g, const ClassArrays& arrays, const GridPart<T>& grid, const Planes& planes, F row) {
  const int split = g.split_mask;
  auto half = [&](int a, i64 v) { return split >> a & 1 ? v >> 1 : v; };
  auto parity = [&](int a, i64 v) { return (split >> a & 1 & int(v & 1)) << a; };
  Index from{}, to = g.box.size;
  if (planes.axis >= 0) {
    from[size_t(planes.axis)] = planes.from;
    to[size_t(planes.axis)] = planes.to;
  }
  for (i64 i = from[0]; i < to[0]; i++)
    for (i64 j = from[1]; j < to[1]; j++) {
      const i64 offset = half(0, i) * arrays.stride[0] + half(1, j) * arrays.stride[1];
      T* at = grid.at(g.box.low[0] + i, g.box.low[1] + j, g.box.low[2], g.box.low[3]);
      for (i64 k = 0; k < g.box.size[2]; k++, at += grid.box.size[3])
        row(parity(0, i) | parity(1, j) | parity(2, k), offset + half(2, k) * arrays.stride[2], at, i, j, k);
    }
}

// Puts n samples of a row into a line, starting at `at`, and writes the line to `out` if its other samples are there. n and `at` are even.
template <class S>
inline void put_in_line(const S* even, const S* odd, i64 n, S* line, i64 at, bool others_there, S* out, const Limits<S>* limits) {
  constexpr i64 half = LineEnds<S>::samples / 2;
  for (i64 x = 0; x < n / 2; x++) {
    line[at / 2 + x] = even[x];
    line[half + at / 2 + x] = odd[x];
  }
  if (others_there) row_kernels<S>().interleave(line, line + half, 2 * half, out, true, limits);
}

// Stores a row past the caches. `row`: its number in the block; k: its index along axis 2.
template <class S>
void store_row(const BlockGeometry& g, const S* even, const S* odd, S* out, const LineEnds<S>& ends, i64 row, i64 k,
               const Limits<S>* limits) {
  constexpr i64 samples = LineEnds<S>::samples;
  const i64 size = g.box.size[3], before = i64(reinterpret_cast<uintptr_t>(out) % 64 / sizeof(S)), rest = (before + size) % samples;
  i64 from = 0, to = size;
  if (before && ends.left && !(ends.left_wraps && k == 0)) {
    from = samples - before;
    put_in_line(even, odd, from, ends.left + row * samples, before, ends.left_there, out - before, limits);
  }
  if (rest && ends.right && !(ends.right_wraps && k == g.box.size[2] - 1)) {
    to -= rest;
    put_in_line(even + to / 2, odd + to / 2, rest, ends.right + row * samples, 0, ends.right_there, out + to, limits);
  }
  row_kernels<S>().interleave(even + from / 2, odd + from / 2, int(to - from), out + from, true, limits);
}

template <class S>
void store_samples(const BlockGeometry& g, const S* values, const GridPart<S>& grid, bool streaming, const Planes& planes,
                   const LineEnds<S>& ends, const Limits<S>* limits) {
  const bool split_x = g.split_mask >> 3 & 1;
  const ClassArrays& arrays = arrays_of<S>(g);
  const i64 size = g.box.size[3], ahead = rows_ahead * grid.box.size[3];
  for_grid_rows(g, arrays, grid, planes, [&](int cls, i64 offset, S* out, i64 i, i64 j, i64 k) {
    if (streaming && reinterpret_cast<uintptr_t>(out) % 64) {
      // Cache lines at the ends that are written in part have to be fetched. The hardware does not predict their pages, so prefetch them.
      if (!ends.left) __builtin_prefetch(out + ahead, 1);
      if (!ends.right) __builtin_prefetch(out + ahead + size, 1);
    }
    const S* even = values + g.start(arrays, cls) + offset;
    if (!split_x) {
      if (limits)
        for (i64 x = 0; x < size; x++) out[x] = (*limits)(even[x]);
      else
        memcpy(out, even, size_t(size) * sizeof(S));
      return;
    }
    const S* odd = values + g.start(arrays, cls | 8) + offset;
    if constexpr (sizeof(S) == 1) {
      for (i64 x = 0; x < size / 2; x++) {
        out[2 * x] = even[x];
        out[2 * x + 1] = odd[x];
      }
      if (size & 1) out[size - 1] = even[size / 2];
    } else if (streaming)
      store_row(g, even, odd, out, ends, (i * g.box.size[1] + j) * g.box.size[2] + k, k, limits);
    else
      row_kernels<S>().interleave(even, odd, int(size), out, streaming, limits);
  });
}

}  // namespace

template <class S>
void store_block(const BlockGeometry& g, const S* values, const GridPart<S>& grid, bool streaming, const Planes& planes,
                 const LineEnds<S>& ends, const Limits<S>* limits) {
  STZ_STAGE(store);
  store_samples(g, values, grid, streaming, planes, ends, limits);
}

template <class S>
void gather_planes(const BlockGeometry& g, const S* values, const Planes& planes, S* out) {
  const int split = g.split_mask;
  const ClassArrays& arrays = g.values;
  const i64 rows = g.box.size[2], n = g.box.size[3];
  auto half = [&](int a, i64 v) { return split >> a & 1 ? v >> 1 : v; };
  auto parity = [&](int a, i64 v) { return (split >> a & 1 & int(v & 1)) << a; };
  // Stores the rows of one class of even samples.
  auto put = [&](int cls, i64 offset, i64 count, S* to, i64 step) {
    const S* even = values + g.start(arrays, cls) + offset;
    if (split >> 3 & 1) {
      const S* odd = values + g.start(arrays, cls | 8) + offset;
      row_kernels<S>().interleave_rows(even, odd, arrays.stride[2], int(count), int(n), to, step);
    } else {
      for (i64 k = 0; k < count; k++) memcpy(to + k * step, even + k * arrays.stride[2], size_t(n) * sizeof(S));
    }
  };
  Index from{}, end = g.box.size;
  if (planes.axis >= 0) {
    from[size_t(planes.axis)] = planes.from;
    end[size_t(planes.axis)] = planes.to;
  }
  for (i64 i = from[0]; i < end[0]; i++)
    for (i64 j = from[1]; j < end[1]; j++, out += rows * n) {
      const i64 offset = half(0, i) * arrays.stride[0] + half(1, j) * arrays.stride[1];
      const int cls = parity(0, i) | parity(1, j);
      if (split >> 2 & 1) {
        put(cls, offset, (rows + 1) / 2, out, 2 * n);
        put(cls | 4, offset, rows / 2, out + n, 2 * n);
      } else {
        put(cls, offset, rows, out, n);
      }
    }
}

template <class S>
void load_block(const BlockGeometry& g, const GridPart<const S>& grid, S* values, const Planes& planes) {
  STZ_STAGE(load);
  const bool split_x = g.split_mask >> 3 & 1;
  const i64 size = g.box.size[3], ahead = rows_ahead * grid.box.size[3];
  std::vector<S> coarse(size_t(size / 2 + 1 + row_slack));
  for_grid_rows(g, g.values, grid, planes, [&](int cls, i64 offset, const S* in, i64, i64, i64) {
    for (i64 x = 0; x < size; x += i64(64 / sizeof(S))) __builtin_prefetch(in + ahead + x);
    S* even = cls ? values + g.start(g.values, cls) + offset : coarse.data();
    if (split_x)
      row_kernels<S>().separate(in, int(size), even, values + g.start(g.values, cls | 8) + offset);
    else if (cls)
      memcpy(even, in, size_t(size) * sizeof(S));
  });
}

void store_block_bytes(const BlockGeometry& g, const u8* activities, const GridPart<u8>& grid) {
  STZ_STAGE(store);
  store_samples<u8>(g, activities, grid, false, Planes{}, {}, nullptr);
}

template void gather_planes(const BlockGeometry&, const float*, const Planes&, float*);
template void gather_planes(const BlockGeometry&, const double*, const Planes&, double*);
template void gather_planes(const BlockGeometry&, const i64*, const Planes&, i64*);
template void load_block(const BlockGeometry&, const GridPart<const float>&, float*, const Planes&);
template void load_block(const BlockGeometry&, const GridPart<const double>&, double*, const Planes&);
template void load_block(const BlockGeometry&, const GridPart<const i64>&, i64*, const Planes&);
template void store_block(const BlockGeometry&, const float*, const GridPart<float>&, bool, const Planes&, const LineEnds<float>&,
                          const Limits<float>*);
template void store_block(const BlockGeometry&, const double*, const GridPart<double>&, bool, const Planes&, const LineEnds<double>&,
                          const Limits<double>*);
template void store_block(const BlockGeometry&, const i64*, const GridPart<i64>&, bool, const Planes&, const LineEnds<i64>&,
                          const Limits<i64>*);

}  // namespace stz
