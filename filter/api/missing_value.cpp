// Searches for an undeclared fill value; stz.h has the rule.
#include <cmath>
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

struct Sample {
  double value;
  u64 bits;
};

template <class Value>
Sample read(const void* data, u64 index, bool swap) {
  using Bits = std::conditional_t<sizeof(Value) == 8, u64, std::conditional_t<sizeof(Value) == 4, u32, u16>>;
  const u64 bits = load_bits(static_cast<const u8*>(data) + index * sizeof(Value), sizeof(Value), swap);
  return {static_cast<double>(bit_cast_to<Value>(static_cast<Bits>(bits))), bits};
}

// The distance of the candidate from all other values; 0 if it is not a missing value.
double distance_if_missing(const Sample* samples, u64 count, const Sample& candidate) {
  u64 occurrences = 0;
  for (u64 i = 0; i < count; ++i) occurrences += samples[i].bits == candidate.bits;
  if (occurrences < least_occurrences) return 0;
  double low = INFINITY, high = -INFINITY;  // of all other values
  for (u64 i = 0; i < count; ++i) {
    if (samples[i].bits == candidate.bits) continue;
    low = std::fmin(low, samples[i].value);
    high = std::fmax(high, samples[i].value);
  }
  const double range = high - low;
  const double distance = candidate.value < low ? low - candidate.value : candidate.value - high;
  const bool missing = range > 0 && distance > least_distance_in_ranges * range;
  return missing ? distance : 0;
}

template <class Value>
void search(const stz_layout& layout, const void* data, stz_options& options) {
  u64 count = 1;
  for (int axis = 0; axis < layout.rank; ++axis) count *= layout.shape[axis];
  // Golden-ratio steps spread the samples evenly and do not align with any axis.
  const u64 sampled = count < sampled_at_most ? count : sampled_at_most;
  const u64 step = count <= sampled_at_most ? 1 : static_cast<u64>(static_cast<double>(count) * 0.6180339887498949) | 1;
  const bool swap = swapped(layout);

  Sample samples[sampled_at_most];
  u64 taken = 0, lowest = 0, highest = 0;
  for (u64 i = 0, index = 0; i < sampled; ++i, index += step) {
    if (index >= count) index -= count;  // once is enough: the step is below `count`, or 1
    const Sample sample = read<Value>(data, index, swap);
    if (!std::isfinite(sample.value)) continue;
    samples[taken] = sample;
    if (sample.value < samples[lowest].value) lowest = taken;
    if (sample.value > samples[highest].value) highest = taken;
    ++taken;
  }
  if (taken == 0) return;

  const double below = distance_if_missing(samples, taken, samples[lowest]);
  const double above = distance_if_missing(samples, taken, samples[highest]);
  const double distance = std::fmax(below, above);
  const double needed = options.mode == STZ_ABSOLUTE ? least_distance_in_bounds * options.bound : 0;
  if (distance > needed) {
    options.has_fill = 1;
    options.fill = samples[above > below ? highest : lowest].bits;
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
