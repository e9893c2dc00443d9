#include "rewrite/exact_size.h"

#include <algorithm>

#include "base/buffer.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "format/frame.h"
#include "format/patches.h"
#include "grid/box_rows.h"

namespace stz {
namespace {

constexpr u64 number_of_boxes = 8, most_in_a_box = u64(1) << 14;

// A box that is as nearly cubic as the array allows.
Patch box_within(const stz_layout& layout) {
  Patch box = {};
  std::copy(layout.shape, layout.shape + layout.rank, box.extent);
  for (u64 elements = element_count(layout); elements > most_in_a_box;) {
    u64& longest = *std::max_element(box.extent, box.extent + layout.rank);
    elements /= longest;
    longest = (longest + 1) / 2;
    elements *= longest;
  }
  return box;
}

// Spreads the boxes evenly. Along the slowest axis longer than the box, the k-th box lies in the k-th of number_of_boxes parts. Along the
// other axes a low-discrepancy sequence (multiples of the golden ratio) gives the places.
void place(Patch& box, u64 k, const stz_layout& layout) {
  constexpr double golden_ratio = 0.6180339887498949;
  double step = golden_ratio, at = (double(k) + 0.5) / double(number_of_boxes);
  for (int a = 0; a < layout.rank; a++) {
    const u64 places = layout.shape[a] - box.extent[a] + 1;
    if (places == 1) continue;
    box.origin[a] = std::min(places - 1, u64(at * double(places)));
    at = (double(k) + 0.5) * step;
    at -= double(u64(at));
    step *= golden_ratio;
  }
}

}  // namespace

u64 estimate_exact_size(const stz_layout& layout, const u8* data, const stz_options& lossless) {
  const size_t element = element_size(layout.dtype);
  Patch box = box_within(layout);
  const stz_layout of_box = patch_layout(layout, box);
  const u64 elements = element_count(of_box);
  if (elements == element_count(layout)) return encode(layout, data, lossless).size();
  Buffer<u8> samples(size_t(elements) * element);
  u64 bytes = 0;
  for (u64 k = 0; k < number_of_boxes; k++) {
    place(box, k, layout);
    for_box_rows(layout, box.origin, box.extent, [&](u64 in_array, u64 in_box, u64 count) {
      memcpy(samples.data() + in_box * element, data + in_array * element, size_t(count) * element);
    });
    bytes += encode(of_box, samples.data(), lossless).size();
  }
  const double times = double(element_count(layout)) / double(number_of_boxes * elements);
  return u64(double(bytes) * times);
}

}  // namespace stz
