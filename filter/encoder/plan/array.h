// An array in memory as the encoder sees it: components, masks, samples.
#pragma once
#include <algorithm>
#include <atomic>
#include <limits>

#include "base/parallel.h"
#include "base/stages.h"
#include "format/convert.h"
#include "format/sample_order.h"
#include "masks/mask_coder.h"

namespace stz {

// Elements and their components; the codec's order is all of component 0, then all of component 1.
struct Array {
  const stz_layout& layout;
  const u8* data;
  size_t width = component_size(layout.dtype);
  int parts = components(layout.dtype);
  bool swap = swapped(layout);
  u64 elements = element_count(layout);
  // Whether elements at this distance are contiguous components in the byte order of the host.
  bool side_by_side(u64 stride) const { return parts == 1 && stride == 1 && !swap; }
  u64 bits(u64 element, int part) const { return load_bits(data + (element * u64(parts) + u64(part)) * width, width, swap); }
};

// Sets h.valid, h.padding and h.partial. h.valid is the extent without trailing planes whose components all have the bits of the very last
// one.
void find_valid_extent(const Array& a, Header& h);

// Special values of all samples in the codec's order.
struct Masks {
  std::vector<u8> specials;  // empty: nothing is masked
  std::vector<LiteralElement> literals;
  const u8* specials_or_null() const { return specials.empty() ? nullptr : specials.data(); }
};
// Finds fill values and, in floating-point types, numbers that are not finite. Sets h.masked and h.nan_bits. `zeros`: masks zeros too, +0
// as the common special value if nothing is more frequent, or as the fill value of a header that has none.
Masks find_masks(const Array& a, Header& h, bool zeros);

// Whether any of n samples is +0 or -0.
template <class S>
bool any_zero(const S* samples, u64 n) {
  for (u64 from = 0; from < n; from += special_run) {
    bool any = false;
    for (u64 i = from; i < std::min(n, from + special_run); i++) any |= samples[i] == 0;
    if (any) return true;
  }
  return false;
}

// The samples of all valid elements, transformed as the header says. Replacements of masked samples are no larger than the others.
// `largest`: gets the largest magnitude; may be null.
template <class S>
Buffer<S> load_samples(const Array& a, const Header& h, const Masks& m, double* largest = nullptr) {
  const u64 valid = valid_elements(h);
  Buffer<S> samples(valid * u64(a.parts));
  S last = 0;
  const SampleOrder order(h);
  const auto load = [&](u64 at, u64 element, u64 count, u64 stride, int part) {
    const u8* specials = m.specials.empty() || !any_special(&m.specials[at], count) ? nullptr : &m.specials[at];
    if (!specials && a.side_by_side(stride)) {
      samples_of<S>(h, a.data + element * a.width, i64(count), samples.data() + at);
      last = samples[at + count - 1];
      return;
    }
    if (a.side_by_side(stride) && samples_are_elements<S>(h)) {
      memcpy(samples.data() + at, a.data + element * a.width, count * sizeof(S));
      using Bits = std::make_unsigned_t<CodeOf<S>>;
      Bits kept = bit_cast_to<Bits>(last);
      for (u64 k = 0; k < count; k++) {
        const Bits valid = Bits(specials[k] != special_none) - 1;  // all ones or none: without a branch
        kept = (bit_cast_to<Bits>(samples[at + k]) & valid) | (kept & ~valid);
        samples[at + k] = bit_cast_to<S>(kept);
      }
      last = bit_cast_to<S>(kept);
      return;
    }
    for (u64 k = 0; k < count; k++) {
      if (!specials || !specials[k]) last = sample_of<S>(h, a.bits(element + k * stride, part));
      samples[at + k] = last;  // its value is not used; one near the others keeps kernels from slow numbers
    }
  };
  std::make_unsigned_t<CodeOf<S>> most = 0;
  for (int part = 0; part < a.parts; part++)
    order.for_each_run([&](u64 number, u64 element, u64 n, u64 stride) {
      for (u64 x = 0; x < n; x += special_run) {
        const u64 count = std::min(special_run, n - x), at = u64(part) * valid + number + x;
        load(at, element + x * stride, count, stride, part);
        bool unused;
        if constexpr (std::is_floating_point_v<S>)
          if (largest) most = std::max(most, scan_kernels<S>().scan(samples.data() + at, count, 0, &unused));
      }
    });
  if constexpr (std::is_floating_point_v<S>)
    if (largest) *largest = double(bit_cast_to<S>(most));
  return samples;
}

// Runs scan_kernels over parts of an array until one has a magnitude of `most` or more, or a number equal to `wanted`.
template <class S>
std::make_unsigned_t<CodeOf<S>> scan(const S* samples, u64 n, std::make_unsigned_t<CodeOf<S>> wanted, std::make_unsigned_t<CodeOf<S>> most,
                                     int threads, bool* equal) {
  STZ_STAGE(scan);
  constexpr u64 part = u64(1) << 20;
  struct Nothing {};
  std::vector<std::pair<std::make_unsigned_t<CodeOf<S>>, bool>> scans((n + part - 1) / part);
  std::atomic<bool> ends = false;
  parallel_for<Nothing>(scans.size(), threads, [&](Nothing&, u64 i) {
    if (ends.load(std::memory_order_relaxed)) return;
    scans[i].first = scan_kernels<S>().scan(samples + i * part, std::min(part, n - i * part), wanted, &scans[i].second);
    if (scans[i].first >= most || scans[i].second) ends.store(true, std::memory_order_relaxed);
  });
  std::make_unsigned_t<CodeOf<S>> largest = 0;
  *equal = false;
  for (const auto& [of_part, equal_in_part] : scans) {
    largest = std::max(largest, of_part);
    *equal |= equal_in_part;
  }
  return largest;
}

// The samples, if they are native numbers, all finite and none of them the fill value or, if zeros are masked, a zero; else null. Returns
// the array itself, or `copy` if the codec orders them differently or cuts some off.
template <class S>
const S* plain_samples(const Array& a, const Header& h, bool zeros, int threads, Buffer<S>& copy, double& largest_magnitude) {
  using Bits = std::make_unsigned_t<CodeOf<S>>;
  if (a.width != sizeof(S) || a.swap) return nullptr;
  const SampleOrder order(h);
  const u64 valid = valid_elements(h), parts = u64(a.parts), n = valid * parts;
  const S* samples = reinterpret_cast<const S*>(a.data);
  if (parts != 1 || h.partial || !order.as_stored() || reinterpret_cast<uintptr_t>(a.data) % sizeof(S)) {
    copy.resize(n);
    for (u64 part = 0; part < parts; part++)
      order.for_each([&](u64 number, u64 element) {
        memcpy(copy.data() + part * valid + number, a.data + (element * parts + part) * sizeof(S), sizeof(S));
      });
    samples = copy.data();
  }
  const Bits infinity = bit_cast_to<Bits>(std::numeric_limits<S>::infinity());
  bool filled;
  const Bits largest = scan(samples, n, h.has_fill ? Bits(h.fill) : infinity, infinity, threads, &filled);
  largest_magnitude = double(bit_cast_to<S>(largest));
  return largest >= infinity || filled || (zeros && any_zero(samples, n)) ? nullptr : samples;
}

}  // namespace stz
