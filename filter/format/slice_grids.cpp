#include "format/slice_grids.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "coding/quantize.h"
#include "format/convert.h"

namespace stz {
namespace {

constexpr u64 task_elements = 1 << 15;

u64 zigzag(i64 v) { return u64(v) << 1 ^ u64(v >> 63); }
i64 from_zigzag(u64 v) { return i64(v >> 1) ^ -i64(v & 1); }

template <class T>
void apply_run(const Header& h, const SliceGrid& grid, u64 n, u8* elements) {
  const SpecialValues specials(h.layout.dtype);
  const bool swap = swapped(h.layout);
  for (u64 i = 0; i < n; i++, elements += sizeof(T)) {
    const u64 bits = load_bits(elements, sizeof(T), swap);
    if (specials.special(bits) || (h.has_fill && bits == h.fill)) continue;
    store_bits(elements, number_in_slice<T>(grid, bits), sizeof(T), swap);
  }
}

}  // namespace

template <class T>
u64 number_in_slice(const SliceGrid& grid, u64 bits) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  constexpr double largest = double(std::numeric_limits<T>::max());
  const double e = double(bit_cast_to<T>(Bits(bits)));
  if (!(e == round_even(e))) return bits;
  const double v = grid.origin + (e + double(grid.first)) * grid.delta;
  return bit_cast_to<Bits>(T(v < -largest ? -largest : v > largest ? largest : v));
}
template u64 number_in_slice<float>(const SliceGrid&, u64);
template u64 number_in_slice<double>(const SliceGrid&, u64);

Bytes write_slice_grids(const SliceGrids& s) {
  Bytes payload{u8(s.axis)};
  for (const SliceGrid& grid : s.grids) {
    put_double(payload, grid.origin);
    put_double(payload, grid.delta);
    put_varint(payload, zigzag(grid.first));
  }
  return payload;
}

void read_slice_grids(ByteReader& payload, const Header& h, SliceGrids& s) {
  s.axis = payload.get<u8>();
  require(s.axis < h.layout.rank, STZ_ERROR_CORRUPT);
  const u64 slices = h.layout.shape[s.axis];
  require(slices >= 1 && slices <= most_slices, STZ_ERROR_CORRUPT);
  constexpr double most = 0x1p500;  // of these, no product is infinite
  for (u64 i = 0; i < slices; i++) {
    SliceGrid grid;
    grid.origin = payload.get_double();
    grid.delta = payload.get_double();
    grid.first = from_zigzag(payload.varint());
    require(__builtin_fabs(grid.origin) <= most && __builtin_fabs(grid.delta) <= most, STZ_ERROR_CORRUPT);
    s.grids.push_back(grid);
  }
}

void require_slice_grids(const Header& h) {
  if (!h.slices.any()) return;
  const bool plain = h.mode == STZ_LOSSLESS && h.transform == Transform::fixed_point && h.step == 1 && !h.partial;
  const bool alone = !h.decimals.any() && !h.range.any() && !h.layers.any() && !h.enhancement.any();
  require(plain && alone && components(h.layout.dtype) == 1, STZ_ERROR_CORRUPT);
}

void apply_slice_grids(const Header& h, const u64* start, const u64* count, const u64* step, u8* elements, int threads) {
  const SliceGrids& s = h.slices;
  u64 outer = 1, inner = 1;
  for (int r = 0; r < h.layout.rank; r++) (r < s.axis ? outer : inner) *= r == s.axis ? 1 : count[r];
  const u64 slices = count[s.axis], runs = outer * slices;
  if (runs == 0 || inner == 0) return;
  const size_t width = component_size(h.layout.dtype);
  const u64 runs_of_task = std::max<u64>(1, task_elements / inner);
  struct Nothing {};
  parallel_for<Nothing>((runs - 1) / runs_of_task + 1, threads, [&](Nothing&, u64 task) {
    for (u64 run = task * runs_of_task; run < std::min(runs, (task + 1) * runs_of_task); run++) {
      const SliceGrid& grid = s.grids[size_t(start[s.axis] + run % slices * (step ? step[s.axis] : 1))];
      u8* const first = elements + run * inner * width;
      width == 4 ? apply_run<float>(h, grid, inner, first) : apply_run<double>(h, grid, inner, first);
    }
  });
}

}  // namespace stz
