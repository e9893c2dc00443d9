#include "encoder/encode_repeats.h"

#include <algorithm>
#include <optional>

#include "base/buffer.h"
#include "encoder/plan/effort.h"
#include "encoder/represent/find_repeats.h"
#include "encoder/smallest_stream.h"
#include "format/frame.h"
#include "grid/box_rows.h"

namespace stz {
namespace {

constexpr double fewest_repeated_bits = 4;  // per element without repeats: arrays that take less are simple, and have other forms

// What stands in the boxes of the base, masked: the fill value or, if there is none, a NaN with bits that no element has. Nothing if
// elements have the bits of all candidates.
std::optional<u64> placeholder(const Array& a, const stz_options& options) {
  if (options.has_fill) return options.fill;
  constexpr u64 candidates = 4096;
  const u64 first = a.width == 4 ? 0x7fc57000 : 0x7ff857a000000000;
  std::vector<bool> taken(candidates);
  for (u64 i = 0; i < a.elements; i++)
    if (const u64 number = a.bits(i, 0) - first; number < candidates) taken[size_t(number)] = true;
  const auto free = std::find(taken.begin(), taken.end(), false);
  if (free == taken.end()) return {};
  return first + u64(free - taken.begin());
}

// The array with `bits` in place of all elements of the boxes.
Buffer<u8> without_boxes(const Array& a, const std::vector<FoundRepeat>& repeats, u64 bits) {
  Buffer<u8> rest(size_t(a.elements) * a.width);
  memcpy(rest.data(), a.data, rest.size());
  for (const FoundRepeat& each : repeats)
    for_box_rows(a.layout, each.box.origin, each.box.extent, [&](u64 first, u64, u64 count) {
      for (u64 i = first; i < first + count; i++) store_bits(rest.data() + i * a.width, bits, a.width, a.swap);
    });
  return rest;
}

stz_options options_of_differences(stz_options options) {
  options.has_fill = 0;
  options.enhance = STZ_ENHANCE_NONE;
  options.favour = STZ_FAVOUR_DEFAULT;
  options.keep_zeros = options.keep_range = 0;
  options.valid_range[0] = options.valid_range[1] = 0;
  options.learned = nullptr;
  return options;
}

Bytes differences_of(const Header& h, const u8* data, const Patch& box, const Repeat& repeat, const stz_options& options, Encode encode) {
  const stz_layout layout = patch_layout(h, box);
  const size_t bytes = size_t(array_bytes(layout));
  Buffer<u8> others(bytes), elements(bytes);
  take_box(h.layout, repeat.source, box.extent, data, others.data());
  take_box(h.layout, box.origin, box.extent, data, elements.data());
  take_differences(h, repeat, box.extent, others.data(), elements.data());
  return encode(layout, elements.data(), options_of_differences(options));
}

}  // namespace

Bytes stream_with_repeats(const stz_layout& layout, const u8* data, const stz_options& options, size_t usual, Encode encode) {
  const Array a{layout, data};
  const double bits = 8 * double(usual) / double(std::max<u64>(a.elements, 1));
  if (options.mode != STZ_LOSSLESS || options.layers > 1 || options.bound_used || options.prior_bound > 0 || bits < fewest_repeated_bits)
    return {};
  const std::vector<FoundRepeat> repeats = find_repeats(a, bits);
  if (repeats.empty()) return {};
  const std::optional<u64> fill = placeholder(a, options);
  if (!fill) return {};
  Header h;
  h.layout = layout;
  h.has_fill = options.has_fill != 0;
  h.block = stz_block(options.block);
  h.form = Form::patched;
  if (h.has_fill) h.fill = a.width == 4 ? u32(*fill) : *fill;
  for (const FoundRepeat& each : repeats) h.repeats.push_back(each.repeat);
  Bytes streams;
  double rest = double(a.elements);
  for (const FoundRepeat& each : repeats) {
    const Bytes stream = differences_of(h, data, each.box, each.repeat, options, encode);
    streams.insert(streams.end(), stream.begin(), stream.end());
    h.patches.push_back(each.box);
    h.patches.back().size = stream.size();
    rest -= double(element_count(patch_layout(layout, each.box)));
  }
  if (double(streams.size()) + rest * bits / 8 > worthwhile_share * double(usual)) return {};  // encoding the base takes most of the time
  stz_options of_base = options;
  of_base.has_fill = 1;
  of_base.fill = *fill;
  of_base.learned = nullptr;
  // Estimates from so few elements are less exact, so more forms are tried.
  if (options.effort == 0 || options.effort == default_effort) of_base.effort = default_effort + 1;
  const Bytes base = encode(layout, without_boxes(a, repeats, *fill).data(), of_base);
  h.base_size = base.size();
  Bytes out = write_patched_header(h);
  if (double(out.size() + streams.size() + base.size()) > worthwhile_share * double(usual)) return {};
  out.insert(out.end(), streams.begin(), streams.end());
  out.insert(out.end(), base.begin(), base.end());
  return out;
}

}  // namespace stz
