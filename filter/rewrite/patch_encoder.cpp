#include "rewrite/patch_encoder.h"

#include <algorithm>

#include "base/faults.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "grid/box_rows.h"

namespace stz {
namespace {

struct BoxElements {
  Buffer<u8> data;
  Buffer<u8> hidden;  // 1 for each element that the patch hides (transparent there)
};

// For integer types free elements are hidden too: the pattern needs the place of the stream's fill value.
BoxElements gather(const stz_layout& layout, const u8* data, const Changes& changes, Change wanted, const ChangedBox& box) {
  const size_t element = element_size(layout.dtype);
  const u8 hidden = u8(wanted == Change::kept ? Change::fresh : Change::kept);
  const u8 hidden_too = is_floating(layout.dtype) || box.others == 0 ? hidden : u8(Change::free);
  u64 elements = 1;
  for (int a = 0; a < layout.rank; a++) elements *= box.extent[a];
  BoxElements gathered;
  gathered.data.resize(size_t(elements) * element);
  gathered.hidden.resize(size_t(elements));
  for_box_rows(layout, box.origin, box.extent, [&](u64 in_array, u64 in_box, u64 count) {
    memcpy(gathered.data.data() + in_box * element, data + in_array * element, size_t(count) * element);
    const u8* const state = changes.state.data() + in_array;
    for (u64 x = 0; x < count; x++) gathered.hidden[size_t(in_box + x)] = state[x] == hidden || state[x] == hidden_too;
  });
  return gathered;
}

// The bit patterns that the components of visible elements use: all of them for integers, only special values for floating-point types.
class UnusedBits {
 public:
  UnusedBits(const BoxElements& box, const stz_layout& layout) : width_(component_size(layout.dtype)), is_signed_(is_signed(layout.dtype)) {
    const size_t element = element_size(layout.dtype);
    const bool floating = is_floating(layout.dtype);
    const SpecialValues special(floating ? layout.dtype : i32(STZ_F64));
    for (size_t i = 0; i < box.hidden.size(); i++) {
      if (box.hidden[i]) continue;
      for (size_t at = 0; at < element; at += width_) {
        const u64 bits = load_bits(box.data.data() + i * element + at, width_, swapped(layout));
        if (!floating || special.special(bits)) used_.push_back(bits);
      }
      if (used_.size() > limit_) compact();
    }
    compact();
  }

  // Whether a visible integer lies within `bound` of `bits`.
  bool is_used(u64 bits, double bound) const {
    const u64 top = is_signed_ ? u64(1) << (8 * width_ - 1) : 0;  // flips the sign bit, so that bits sort like the integers
    return std::any_of(used_.begin(), used_.end(), [&](u64 used) {
      const u64 x = used ^ top, y = bits ^ top;
      return double(x > y ? x - y : y - x) <= bound;
    });
  }

  // Finds unused bits among `count` values from `first` on. Returns false if all are used.
  bool find(u64 first, u64 count, u64& bits) const {
    auto at = std::lower_bound(used_.begin(), used_.end(), first);
    for (u64 i = 0; i < count; i++, ++at)
      if (at == used_.end() || *at != first + i) {
        bits = first + i;
        return true;
      }
    return false;
  }

 private:
  void compact() {
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    limit_ = std::max(limit_, 2 * used_.size());
  }
  const size_t width_;
  const bool is_signed_;
  size_t limit_ = size_t(1) << 20;
  std::vector<u64> used_;
};

// Chooses the pattern for hidden elements. For floating-point types it is a quiet NaN, which the codec masks. For integers it becomes the
// fill value of the patch, which is masked as well. That fails if the data's own fill value is in use, or within the bound of a visible
// value.
bool choose_pattern(const BoxElements& box, const stz_layout& layout, stz_options& options, u64& pattern) {
  const UnusedBits unused(box, layout);
  const size_t width = component_size(layout.dtype);
  if (is_floating(layout.dtype)) {
    const FloatFormat format = float_format(layout.dtype);
    if (!format.has_infinity) return unused.find(format.first_special(), 1, pattern);
    const u64 quiet_bit = u64(1) << (format.mantissa_bits - 1);
    return unused.find((format.first_special() | quiet_bit) + 1, quiet_bit - 1, pattern);
  }
  const u64 values = width == 8 ? ~u64(0) : u64(1) << (8 * width);
  const double bound = options.mode == STZ_ABSOLUTE ? options.bound : 0;
  if (options.has_fill && unused.is_used(values == ~u64(0) ? options.fill : options.fill & (values - 1), bound)) return false;
  if (!unused.find(0, values, pattern)) return false;
  options.has_fill = 1;
  options.fill = pattern;
  return true;
}

void hide(BoxElements& box, const stz_layout& layout, u64 pattern) {
  const size_t element = element_size(layout.dtype), width = component_size(layout.dtype);
  for (size_t i = 0; i < box.hidden.size(); i++)
    if (box.hidden[i])
      for (size_t at = 0; at < element; at += width) store_bits(box.data.data() + i * element + at, pattern, width, swapped(layout));
}

}  // namespace

bool encode_patch(const stz_layout& layout, const u8* data, const Changes& changes, Change wanted, const ChangedBox& box,
                  stz_options options, EncodedPatch& result) {
  BoxElements elements = gather(layout, data, changes, wanted, box);
  Patch& patch = result.patch;
  patch = {};
  std::copy(box.origin, box.origin + layout.rank, patch.origin);
  std::copy(box.extent, box.extent + layout.rank, patch.extent);
  if (box.others != 0) {
    if (!choose_pattern(elements, layout, options, patch.pattern)) return false;
    patch.transparent = true;
    hide(elements, layout, patch.pattern);
  }
  STZ_FAULT_POINT(patch_elements, elements.data.data(), elements.data.size());
  options.layers = 1;  // only the base has layers
  std::fill(std::begin(options.layer_bounds), std::end(options.layer_bounds), 0);
  options.enhance = STZ_ENHANCE_NONE;
  result.stream = encode(patch_layout(layout, patch), elements.data.data(), options);
  patch.size = result.stream.size();
  return true;
}

}  // namespace stz
