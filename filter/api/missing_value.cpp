// Searches for an undeclared fill value; stz.h has the rule.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/element_type.h"
#include "base/guard.h"
#include "base/struct_size.h"
#include "format/convert.h"
#include "format/frame.h"
#include "stz.h"

namespace stz {
namespace {

constexpr u64 sampled_at_most = 4096;
constexpr u64 least_occurrences = 2;
constexpr double least_distance_in_ranges = 2;
// A value closer than a few bounds needs no mask: it is coded in a few bits anyway.
constexpr double least_distance_in_bounds = 16;

// Integers that are ordered as the values. Minus zero comes before zero, which makes no difference: the other one is never far away.
template <class Value>
struct Ordered {
  using Bits = std::conditional_t<sizeof(Value) == 8, u64, std::conditional_t<sizeof(Value) == 4, u32, u16>>;
  using Key = std::make_signed_t<Bits>;
  static constexpr Bits top = Bits(Bits(1) << (8 * sizeof(Bits) - 1));

  // Turns the order of negative numbers round. Without a branch, as signs may be hard to predict.
  static Bits mirrored(Bits bits) { return Bits(bits ^ (Bits(Key(bits) >> (8 * sizeof(Bits) - 1)) & Bits(~top))); }

  static Key key(Bits bits) {
    if constexpr (std::is_floating_point_v<Value>) return Key(mirrored(bits));
    return Key(std::is_signed_v<Value> ? bits : Bits(bits ^ top));
  }
  static Bits bits(Key key) {
    const Bits b = Bits(key);
    if constexpr (std::is_floating_point_v<Value>) return mirrored(b);
    return std::is_signed_v<Value> ? b : Bits(b ^ top);
  }
  static double value(Key key) { return static_cast<double>(bit_cast_to<Value>(bits(key))); }
};

// The distance of the candidate from all other values; 0 if it is not a missing value.
template <class Value>
double distance_if_missing(const typename Ordered<Value>::Key* keys, u32 count, typename Ordered<Value>::Key candidate) {
  using Key = typename Ordered<Value>::Key;
  u32 occurrences = 0;
  for (u32 i = 0; i < count; ++i) occurrences += keys[i] == candidate;
  if (occurrences < least_occurrences || occurrences == count) return 0;
  Key lowest = std::numeric_limits<Key>::max(), highest = std::numeric_limits<Key>::min();  // of all other values
  for (u32 i = 0; i < count; ++i) {
    lowest = std::min(lowest, keys[i] == candidate ? std::numeric_limits<Key>::max() : keys[i]);
    highest = std::max(highest, keys[i] == candidate ? std::numeric_limits<Key>::min() : keys[i]);
  }
  const double low = Ordered<Value>::value(lowest), high = Ordered<Value>::value(highest), value = Ordered<Value>::value(candidate);
  const double range = high - low;
  const double distance = value < low ? low - value : value - high;
  const bool missing = range > 0 && distance > least_distance_in_ranges * range;
  return missing ? distance : 0;
}

template <class Value>
void search(const stz_layout& layout, const void* data, stz_options& options) {
  using Order = Ordered<Value>;
  using Key = typename Order::Key;
  u64 count = 1;
  for (int axis = 0; axis < layout.rank; ++axis) count *= layout.shape[axis];
  // Golden-ratio steps spread the samples evenly and do not align with any axis.
  const u64 sampled = count < sampled_at_most ? count : sampled_at_most;
  const u64 step = count <= sampled_at_most ? 1 : static_cast<u64>(static_cast<double>(count) * 0.6180339887498949) | 1;
  const bool swap = swapped(layout);

  Key keys[sampled_at_most];
  u32 taken = 0;
  for (u64 i = 0, index = 0; i < sampled; ++i, index += step) {
    index -= count & (u64{0} - u64{index >= count});  // once is enough: the step is below `count`, or 1. A branch would be hard to predict
    const u64 bits = load_bits(static_cast<const u8*>(data) + index * sizeof(Value), sizeof(Value), swap);
    keys[taken] = Order::key(static_cast<typename Order::Bits>(bits));
    taken += std::isfinite(Order::value(keys[taken]));
  }
  if (taken == 0) return;
  Key lowest = keys[0], highest = keys[0];
  for (u32 i = 0; i < taken; ++i) {
    lowest = std::min(lowest, keys[i]);
    highest = std::max(highest, keys[i]);
  }

  const double below = distance_if_missing<Value>(keys, taken, lowest);
  const double above = distance_if_missing<Value>(keys, taken, highest);
  const double distance = std::fmax(below, above);
  const double needed = options.mode == STZ_ABSOLUTE ? least_distance_in_bounds * options.bound : 0;
  if (distance > needed) {
    options.has_fill = 1;
    options.fill = Order::bits(above > below ? highest : lowest);
  }
}

void search_type(const stz_layout& layout, const void* data, stz_options& options) {
  switch (layout.dtype) {
    case STZ_F32:
      return search<float>(layout, data, options);
    case STZ_F64:
      return search<double>(layout, data, options);
    case STZ_I16:
      return search<i16>(layout, data, options);
    case STZ_U16:
      return search<u16>(layout, data, options);
    case STZ_I32:
      return search<i32>(layout, data, options);
    case STZ_U32:
      return search<u32>(layout, data, options);
    case STZ_I64:
      return search<i64>(layout, data, options);
    case STZ_U64:
      return search<u64>(layout, data, options);
    default:
      return;  // other types have no room for a value far from the data
  }
}

}  // namespace
}  // namespace stz

extern "C" int stz_find_missing_value(const stz_layout* layout, const void* data, stz_options* options) {
  using namespace stz;
  if (!layout || layout->reserved != 0 || !options) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    stz_options given;
    const int code = take_input(options, given);
    require(code == STZ_OK, code);
    require(layout->byte_order == STZ_LITTLE || layout->byte_order == STZ_BIG, STZ_ERROR_ARGUMENT);
    array_bytes(*layout);  // checks dtype and shape
    const u64 elements = element_count(*layout);
    require(data || elements == 0, STZ_ERROR_ARGUMENT);
    if (elements == 0 || given.has_fill) return;
    if (is_integer(layout->dtype) && given.integers != STZ_INTEGERS_BOUNDED) given.mode = STZ_LOSSLESS;
    search_type(*layout, data, given);
    options->has_fill = given.has_fill;
    options->fill = given.fill;
  });
}
