#include "encoder/represent/find_slice_grids.h"

#include <algorithm>
#include <limits>

#include "coding/quantize.h"
#include "encoder/represent/fixed_point.h"
#include "encoder/represent/packed_grid.h"

namespace stz {
namespace {

constexpr u64 elements_per_exception = 500, least_in_slice = 256, few_of_slice = 1024, many_of_slice = 1 << 16;

// The elements of the slices along an axis.
struct Slices {
  Slices(const Array& a, int along) : count(a.layout.shape[along]) {
    for (int r = 0; r < a.layout.rank; r++)
      if (r != along) (r < along ? outer : inner) *= a.layout.shape[r];
  }
  u64 size() const { return outer * inner; }
  u64 element(u64 slice, u64 i) const { return (i / inner * count + slice) * inner + i % inner; }
  u64 count, outer = 1, inner = 1;
};

class Finder {
 public:
  Finder(const Array& a, const Header& h) : a_(a), h_(h), specials_(h.layout.dtype) {}

  // The axis whose slices may be on grids, or -1.
  int promising_axis() const {
    const bool possible = h_.mode == STZ_LOSSLESS && is_floating(a_.layout.dtype) && a_.parts == 1 && a_.width >= 4 && !h_.partial;
    for (int r = 0; possible && r < a_.layout.rank; r++) {
      const Slices slices(a_, r);
      if (slices.count > most_slices || slices.size() < least_in_slice) continue;
      bool all = true;
      for (u64 slice : {u64(0), slices.count / 2, slices.count - 1}) all = all && grid_of(slices, slice, few_of_slice);
      if (all) return r;
    }
    return -1;
  }

  std::optional<SlicedNumbers> all_of(int axis) const {
    const Slices slices(a_, axis);
    SlicedNumbers found{{axis, {}}, Buffer<u8>(size_t(array_bytes(a_.layout))), {}};
    for (u64 slice = 0; slice < slices.count; slice++) {
      std::optional<SliceGrid> grid = grid_of(slices, slice, many_of_slice);
      const bool done = grid && (a_.width == 4 ? put<float>(slices, slice, *grid, found.elements.data(), found.exceptions)
                                               : put<double>(slices, slice, *grid, found.elements.data(), found.exceptions));
      if (!done) return {};
      found.slices.grids.push_back(*grid);
    }
    return found;
  }

 private:
  bool is_special(u64 bits) const { return specials_.special(bits) || (h_.has_fill && bits == h_.fill); }
  u64 bits(const Slices& slices, u64 slice, u64 i) const { return a_.bits(slices.element(slice, i), 0); }

  // A grid of some numbers of a slice, evenly spread, or of all of them.
  std::optional<SliceGrid> grid_of(const Slices& slices, u64 slice, u64 most) const {
    return a_.width == 4 ? grid_of<float>(slices, slice, most) : grid_of<double>(slices, slice, most);
  }
  template <class T>
  std::optional<SliceGrid> grid_of(const Slices& slices, u64 slice, u64 most) const {
    std::vector<T> values;
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    const u64 step = slices.size() <= most ? 1 : slices.size() / most | 1;
    for (u64 i = 0; i < slices.size(); i++) {
      const u64 b = bits(slices, slice, i);
      if (is_special(b)) continue;
      const T v = T(number_of(a_.layout.dtype, b));
      low = std::min(low, v);
      high = std::max(high, v);
      if (i % step == 0) values.push_back(v);
    }
    if (values.empty()) return SliceGrid{};
    values.push_back(low);  // grids often begin there
    values.push_back(high);
    if (low == high) return SliceGrid{double(low), 1, 0};
    if (const auto grid = find_fixed_point_grid(Header(), values.data(), nullptr, values.size()))
      return SliceGrid{grid->origin, grid->delta, to_integer((double(low) - grid->origin) / grid->delta)};
    return find_packed_grid(std::move(values));
  }

  // Stores the integers of a slice. False if one does not give back its number.
  template <class T>
  bool put(const Slices& slices, u64 slice, const SliceGrid& grid, u8* out, std::vector<u64>& exceptions) const {
    constexpr double most = sizeof(T) == 4 ? 0x1p21 : 0x1p45;
    for (u64 i = 0; i < slices.size(); i++) {
      const u64 element = slices.element(slice, i), is = a_.bits(element, 0);
      u64 becomes = is;
      if (!is_special(is)) {
        const double k = round_even((number_of(a_.layout.dtype, is) - grid.origin) / grid.delta) - double(grid.first);
        if (!(__builtin_fabs(k) <= most)) return false;
        becomes = sample_bits(T(k + 0.0));
        if (is_special(becomes)) return false;
        if (number_in_slice<T>(grid, becomes) != is) {
          if (number_in_slice<T>(grid, is) != is || exceptions.size() > a_.elements / elements_per_exception) return false;
          exceptions.push_back(element);
          becomes = is;
        }
      }
      store_bits(out + element * a_.width, becomes, a_.width, a_.swap);
    }
    return true;
  }

  const Array& a_;
  const Header& h_;
  const SpecialValues specials_;
};

}  // namespace

bool promises_slice_grids(const Array& a, const Header& h) { return Finder(a, h).promising_axis() >= 0; }

std::optional<SlicedNumbers> find_slice_grids(const Array& a, const Header& h) {
  const Finder finder(a, h);
  const int axis = finder.promising_axis();
  if (axis < 0) return {};
  return finder.all_of(axis);
}

}  // namespace stz
