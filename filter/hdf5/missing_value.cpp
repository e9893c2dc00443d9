// The rule (missing_value.h): the smallest or the largest value of a sample of the chunk, if it occurs there again and again
// with the same bits and is farther from all other values than twice their own range.
#include "missing_value.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace stz::hdf5 {
namespace {

constexpr uint64_t kSamples = 4096;
constexpr uint64_t kLeastOccurrences = 2;
constexpr double kLeastDistanceInRanges = 2;
// Nearer than a few bounds the value is coded in a few bits as it is.
constexpr double kLeastDistanceInBounds = 16;

struct Sample {
  double value;
  uint64_t bits;
};

template <typename Bits>
Bits swap_bytes(Bits bits) {
  unsigned char bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  for (size_t i = 0; i < sizeof bits / 2; ++i) std::swap(bytes[i], bytes[sizeof bits - 1 - i]);
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

template <typename Value>
Sample read(const unsigned char* data, uint64_t index, bool swapped) {
  using Bits = std::conditional_t<sizeof(Value) == 8, uint64_t, std::conditional_t<sizeof(Value) == 4, uint32_t, uint16_t>>;
  Bits bits;
  std::memcpy(&bits, data + index * sizeof bits, sizeof bits);
  if (swapped) bits = swap_bytes(bits);
  return {static_cast<double>(std::bit_cast<Value>(bits)), bits};
}

// How far the candidate is from all other values; 0 if it is no missing value.
double distance_if_missing(const Sample* samples, uint64_t count, const Sample& candidate) {
  uint64_t occurrences = 0;
  double low = INFINITY, high = -INFINITY;  // of all other values
  for (uint64_t i = 0; i < count; ++i) {
    if (samples[i].bits == candidate.bits) {
      ++occurrences;
    } else {
      low = std::fmin(low, samples[i].value);
      high = std::fmax(high, samples[i].value);
    }
  }
  const double range = high - low;
  const double distance = candidate.value < low ? low - candidate.value : candidate.value - high;
  const bool missing = occurrences >= kLeastOccurrences && range > 0 && distance > kLeastDistanceInRanges * range;
  return missing ? distance : 0;
}

template <typename Value>
void search(const stz_layout& layout, const void* data, stz_options& options) {
  uint64_t count = 1;
  for (int axis = 0; axis < layout.rank; ++axis) count *= layout.shape[axis];
  // Steps of the golden ratio: spread evenly, and never in step with an axis.
  const uint64_t sampled = count < kSamples ? count : kSamples;
  const uint64_t step = count <= kSamples ? 1 : static_cast<uint64_t>(static_cast<double>(count) * 0.6180339887498949) | 1;
  const bool swapped = (layout.byte_order == STZ_BIG) != (std::endian::native == std::endian::big);

  Sample samples[kSamples];
  uint64_t taken = 0, lowest = 0, highest = 0;
  for (uint64_t i = 0, index = 0; i < sampled; ++i, index = (index + step) % count) {
    const Sample sample = read<Value>(static_cast<const unsigned char*>(data), index, swapped);
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
  const double needed = options.mode == STZ_ABSOLUTE ? kLeastDistanceInBounds * options.bound : 0;
  if (distance > needed) {
    options.has_fill = 1;
    options.fill = samples[above > below ? highest : lowest].bits;
  }
}

}  // namespace

void find_missing_value(const stz_layout& layout, const void* data, stz_options& options) {
  if (options.has_fill) return;
  switch (layout.dtype) {
    case STZ_F32: return search<float>(layout, data, options);
    case STZ_F64: return search<double>(layout, data, options);
    case STZ_I16: return search<int16_t>(layout, data, options);
    case STZ_U16: return search<uint16_t>(layout, data, options);
    case STZ_I32: return search<int32_t>(layout, data, options);
    case STZ_U32: return search<uint32_t>(layout, data, options);
    case STZ_I64: return search<int64_t>(layout, data, options);
    case STZ_U64: return search<uint64_t>(layout, data, options);
    default: return;  // the other types have no room for a value far from their data
  }
}

}  // namespace stz::hdf5
